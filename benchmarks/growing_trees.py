"""Growing trees against each other on the same contexts: `grow` checked by UniVer, `eagle2` checked by membership.

    python benchmarks/growing_trees.py --target DIRECTORY --draft DIRECTORY [--temperature 1.0] [--prompts FILE]
        [--arm METHOD[:ORDER]@TREE ...] [--places 8] [--limit 36] [--json FILE]

The first arm is the one the others are compared with. Every arm drafts its own trees at the same places of the same
texts (64 tokens of the target's own on every prompt), with the same random numbers; tau is one plus the mean depth
under the exact distribution of the last kept node, so no counting noise is left. Intervals are paired bootstraps over
prompts. At temperature 0 all children are fixed and ranked by the draft's distribution at temperature 1, as in
`generate`.

Arms whose settings are to be chosen are compared on other prompts than those reported: `--prompts` takes a JSONL file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from univer.bench.folder import Record
from univer.bench.intervals import gain_interval, mean_interval
from univer.bench.measure import measure
from univer.bench.rows import Row, growths_of
from univer.bench.summary import tau_of
from univer.cli.terminal import progress
from univer.drafting.growth.parse import parse_tree
from univer.drafting.independent import IndependentDraft
from univer.engine import Sampling
from univer.engine.contexts import ContextSettings
from univer.files import write_json
from univer.methods import resolve
from univer.models import load
from univer.models.machine import machine
from univer.models.prompts import encode, load_prompts

ARMS = ("membership@eagle2:nodes=62,depth=7", "univer@grow:nodes=62,depth=7", "univer-mixed@grow:nodes=62,depth=7")


def row_of(arm: str, temperature: float) -> Row:
    """The row that `method[:order]@tree` names."""
    full, _, tree = arm.partition("@")
    name, _, order = full.partition(":")
    method, policy = resolve(name), parse_tree(tree)
    policy.widest(method.draft_law)
    if temperature == 0:
        # All children are fixed, the target's distributions are point masses, and all methods keep the same nodes.
        return Row(tree, arm, resolve("membership"), "drawn", policy, "fixed")
    return Row(tree, arm, method, order or method.order, policy, method.draft_law)


def main() -> int:
    """Measure and print; the exit status is 130 after an interruption."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--draft", required=True)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--arm", action="append", help="METHOD[:ORDER]@TREE, repeatable")
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--places", type=int, default=8)
    parser.add_argument("--drafted", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    arms = [row_of(arm, options.temperature) for arm in options.arm or ARMS]
    target, tokenizer = load(options.target)
    draft = IndependentDraft(load(options.draft)[0])
    chosen = load_prompts(options.prompts, options.limit)
    prompts = [(prompt, encode(tokenizer, prompt.text)) for prompt in chosen]
    settings = ContextSettings(
        sampling=Sampling(temperature=options.temperature),
        draft_sampling=None if options.temperature else Sampling(),
        places=options.places,
        drafted=options.drafted,
    )
    total, done = len(prompts) * settings.places * settings.drafted * len(growths_of(arms)), 0
    records: list[Record] = []
    interrupted = False
    try:
        with progress() as report:

            def drafted() -> None:
                nonlocal done
                done += 1
                report("contexts", done, total)

            seeds = range(options.seed, options.seed + len(prompts))
            for record in measure(target, draft, prompts, arms, [settings], seeds=seeds, progress=drafted):
                records.append(record)  # noqa: PERF402  an interruption keeps what came before
    except KeyboardInterrupt:
        interrupted = True
        if not records:
            print("interrupted before the first prompt was finished: nothing to show")
            return 130
        print(f"stopped after {len(records) // len(arms)} prompts")
    table = []
    first: list[float | None] = []
    for arm in arms:
        own = [record for record in records if record["method"] == arm.name]
        means = [tau_of(record) for record in own]
        nodes = sum(record["nodes"] for record in own) / len(own)
        line = {"arm": arm.name, "nodes": nodes, "tau": vars(mean_interval(means))}
        line["gain"] = vars(gain_interval(means, first)) if first else None
        first = first or means
        table.append(line)
        tau, gain = line["tau"], line["gain"]
        over = f"  gain {100 * gain['value']:+.1f} % [{gain['low']}, {gain['high']}]" if gain else ""
        print(f"{arm.name:60} nodes {nodes:5.1f}  tau {tau['value']:.3f} [{tau['low']}, {tau['high']}]{over}")
    if options.json:
        made = {
            "target": Path(options.target).name,
            "draft": Path(options.draft).name,
            "dtype": str(target.dtype).removeprefix("torch."),
            "device": str(target.device),
            "temperature": options.temperature,
            "draft_temperature": settings.of_draft.temperature,
            "places": settings.places,
            "drafted": settings.drafted,
            "new_tokens": settings.new_tokens,
            "seed": options.seed,
            "machine": machine(),
        }
        write_json(options.json, {"settings": made, "records": records, "arms": table})
    return 130 if interrupted else 0


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    sys.exit(main())
