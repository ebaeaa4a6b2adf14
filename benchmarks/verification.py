"""Cost of verification relative to a target pass: from float32 distributions, with the way from logits to them apart.

    python benchmarks/verification.py [--vocabulary 151936] [--tree 2x5] [--target DIRECTORY] [--json FILE]

All ways are timed in turn, round after round, in one process, and medians are printed. With `--target` the tree pass of
that model in bfloat16 is timed in the same rounds and the ratio to it is printed. Peak memory is measured in a process
of its own: what `verify` adds to the resident set, in copies of the distributions.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from univer import DraftTree, methods, verify
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import draft_tree
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.shapes import parse_shape
from univer.engine import Sampling
from univer.models.machine import machine

ENTRIES = (
    ("univer", "drawn"),
    ("univer", "gain"),
    ("greedy", "drawn"),
    ("traversal", "drawn"),
    ("univer-mixed", "drawn"),
    ("spectr-lifted", "drawn"),
)


def example(method: str, tree: str, vocabulary: int) -> tuple[DraftTree, Tensor]:
    """A drafted tree and target distributions that resemble the draft's, as peaked as those of a language model."""
    generator = torch.Generator().manual_seed(0)
    law = methods()[method].draft_law

    def rows(grown: TreeBuilder, nodes: Sequence[int]) -> Tensor:
        return torch.softmax(4 * torch.randn(len(nodes), vocabulary, generator=generator), -1)

    growth = StaticGrowth(parse_shape(tree, law=law))
    drafted = draft_tree(0, growth, rows, generator, torch.device("cpu")).tree
    target = torch.softmax(4 * torch.randn(len(drafted), vocabulary, generator=generator), -1)
    for node, row in drafted.draft_laws.items():
        target[node] = 0.7 * row + 0.3 * target[node]
    return drafted, target


def added_memory(method: str, order: str, tree: str, vocabulary: int, results: Any) -> None:
    """Put the growth of the peak resident set during `verify`, in copies of the target distributions, into a queue."""
    small, targets = example(method, tree, 512)
    verify(small, targets, method, order=order)  # code and tables that are loaded once
    drafted, target = example(method, tree, vocabulary)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # The peak so far may lie above the present size: fill the gap, so that anything more shows.
    held = []
    while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss == before:
        held.append(torch.ones(1 << 18))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verify(drafted, target, method, order=order)
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    results.put(added * 1024 / (target.numel() * target.element_size()))


def target_pass(directory: str, nodes: DraftTree) -> Callable[[], object]:
    """One pass of a real model over the nodes of a tree below a short text."""
    from univer.models import load
    from univer.runtime.runner import TreeRunner

    model, tokenizer = load(directory, dtype="bfloat16", device="cpu")
    runner = TreeRunner(model)
    text = tokenizer("The harbour of a small northern town was dredged this spring. " * 16).input_ids
    with torch.inference_mode():
        runner.extend(text)

    def run() -> None:
        with torch.inference_mode():
            runner.read_nodes([7] * len(nodes), nodes.parents)
            runner.keep([])

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=int, default=151_936)
    parser.add_argument("--tree", default="2x5")
    parser.add_argument("--target", help="directory of the model whose pass is the measure")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, help="write the figures to a new file")
    args = parser.parse_args()

    memory: dict[str, float] = {}
    context = get_context("spawn")
    for method, order in ENTRIES[:2]:
        queue = context.Queue()
        process = context.Process(target=added_memory, args=(method, order, args.tree, args.vocabulary, queue))
        process.start()
        memory[f"{method} ({order})"] = queue.get()
        process.join()

    ways: dict[str, Callable[[], object]] = {}
    examples = {method: example(method, args.tree, args.vocabulary) for method, _ in ENTRIES}
    nodes = examples["univer"][0]
    if args.target:
        ways["target pass"] = target_pass(args.target, nodes)
    for method, order in ENTRIES:
        drafted, targets = examples[method]
        ways[f"{method} ({order})"] = partial(verify, drafted, targets, method, order=order)
    logits = examples["univer"][1].log().clamp_(min=-80).bfloat16()
    ways["logits to distributions"] = lambda: Sampling().distributions(logits)
    ways["logits to distributions, top-p 0.9"] = lambda: Sampling(top_p=0.9).distributions(logits)

    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for round_number in range(args.rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if round_number:  # the first round warms up
                seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(own) for name, own in seconds.items()}
    measure = medians.get("target pass")
    print(
        f"{len(nodes)} nodes, vocabulary {args.vocabulary}, {torch.get_num_threads()} threads, medians of {args.rounds}"
    )
    for name, median in medians.items():
        share = f"  {median / measure:6.1%} of the target pass" if measure and name != "target pass" else ""
        extra = f"  adds {memory[name]:.2f} copies of the distributions" if name in memory else ""
        print(f"{name:28s} {median * 1e3:8.1f} ms{share}{extra}")
    if args.json:
        settings = {
            "vocabulary": args.vocabulary,
            "tree": args.tree,
            "rounds": args.rounds,
            "target": Path(args.target).name if args.target else None,
        }
        found = {"settings": settings, "machine": machine(), "seconds": seconds}
        with args.json.open("x", encoding="utf-8") as file:
            json.dump(found | {"added_memory": memory}, file, indent=1)


if __name__ == "__main__":
    main()
