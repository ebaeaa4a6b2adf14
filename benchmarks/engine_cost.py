"""What a round costs beyond the passes of the two models.

    python benchmarks/engine_cost.py [--target smollm2-135m] [--draft DRAFT] [--tree TREE] [--method METHOD]
        [--temperature 1.0] [--limit 6] [--tokens 64] [--json FILE]

The time inside the models (the forward of the target and of a draft model, the layer and the output layer of an EAGLE
head) is measured separately; the rest of a round is the engine's: growing and drawing the tree, masks, distributions,
the verdict, the cache, the bookkeeping. Prefills are left out. The first prompt is run once unmeasured.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from univer import generate
from univer.cli.loading import load_pair
from univer.cli.options import PairOptions
from univer.cli.terminal import progress
from univer.drafting.eagle.draft import EagleDraft
from univer.engine import generate_rounds
from univer.files import write_json
from univer.models.catalogue import DEFAULT_MODEL
from univer.models.machine import machine
from univer.models.prompts import encode, load_prompts

PARTS = ("target", "draft")


class Stopwatch:
    """Adds up the time inside calls of methods, by part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def watch(self, owner: Any, name: str, part: str) -> None:
        """Take the time of every call of `owner.name`."""
        method: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return method(*args, **named)
            finally:
                self.seconds[part] += time.perf_counter() - started

        setattr(owner, name, timed)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default=DEFAULT_MODEL)
    parser.add_argument("--draft")
    parser.add_argument("--tree")
    parser.add_argument("--method", default="univer")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--limit", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    pair = load_pair(PairOptions(target=options.target, draft=options.draft))
    target, tokenizer, name, draft = pair.target, pair.tokenizer, pair.named, pair.draft
    watch = Stopwatch()
    watch.watch(target, "forward", "target")
    if isinstance(draft, EagleDraft):
        for method in ("fuse", "block", "logits"):
            watch.watch(draft.head, method, "draft")
    for model in draft.models if draft else ():
        watch.watch(model, "forward", "draft")
    request = {
        "method": options.method,
        "tree": options.tree,
        "temperature": options.temperature,
        "eos_token_id": None,
        "seed": 0,
    }
    prompts = [encode(tokenizer, prompt.text) for prompt in load_prompts(None, options.limit)]
    generate(target, draft, prompts[0], max_new_tokens=8, **request)
    rounds, elapsed, nodes = 0, 0.0, 0
    spent: dict[str, float] = defaultdict(float)
    with progress() as tell:
        for number, ids in enumerate(prompts):
            steps = generate_rounds(target, draft, ids, max_new_tokens=options.tokens, **request)
            next(steps)
            before, started = dict(watch.seconds), time.perf_counter()
            for step in steps:
                rounds += 1
                nodes += step.round.drafted if step.round else 0
            elapsed += time.perf_counter() - started
            for part in PARTS:
                spent[part] += watch.seconds[part] - before.get(part, 0.0)
            tell("prompts", number + 1, len(prompts))
    spent["engine"] = elapsed - sum(spent.values())
    share = spent["engine"] / elapsed
    print(f"{options.target}, draft {name}, {rounds} rounds, {nodes / rounds:.1f} nodes each")
    for part, seconds in spent.items():
        print(f"{part:8} {1000 * seconds / rounds:7.1f} ms a round  {100 * seconds / elapsed:5.1f} %")
    if options.json:
        settings = {key: value for key, value in vars(options).items() if key != "json"} | {"draft": name}
        content = {"settings": settings, "machine": machine(), "rounds": rounds, "seconds": spent, "share": share}
        write_json(options.json, content)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
