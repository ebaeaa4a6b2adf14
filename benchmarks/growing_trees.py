"""Growing trees against each other on the same contexts: `grow` checked by UniVer, `eagle2` checked by membership.

    python benchmarks/growing_trees.py --target DIRECTORY --draft DIRECTORY [--temperature 1.0] [--prompts FILE]
        [--arm METHOD[:ORDER]@TREE ...] [--places 8] [--limit 36] [--json FILE]

The first arm is the one the others are compared with. Every arm drafts its own trees at the same places of the same
texts (64 tokens of the target's own on every prompt), with the same random numbers; tau is one plus the mean depth
under the exact law of the last kept node, so no counting noise is left. Intervals are paired bootstraps over prompts.
At temperature 0 all children are fixed and ranked by the draft's laws at temperature 1, as in `generate`.

Arms whose settings are to be chosen are compared on other prompts than those reported: `--prompts` takes a JSONL file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch

from univer.bench.compare import Comparison, compare
from univer.bench.intervals import gain_interval, mean_interval
from univer.cli.terminal import progress
from univer.drafting.growth.parse import parse_tree
from univer.drafting.independent import IndependentDraft
from univer.engine import Sampling
from univer.engine.contexts import Entry
from univer.methods import resolve
from univer.models import load
from univer.models.prompts import encode, load_prompts

ARMS = ("membership@eagle2:nodes=62,depth=7", "univer@grow:nodes=62,depth=7", "univer-mixed@grow:nodes=62,depth=7")


def entry(arm: str, temperature: float) -> tuple[str, Entry]:
    """The row of a comparison that `method[:order]@tree` names."""
    full, _, tree = arm.partition("@")
    name, _, order = full.partition(":")
    method, policy = resolve(name), parse_tree(tree)
    policy.widest(method.draft_law)
    if temperature == 0:
        # All children are fixed, the target's laws are point masses, and every method decides alike.
        return tree, Entry(arm, resolve("membership"), "drawn", policy, "fixed")
    return tree, Entry(arm, method, order or method.order, policy, method.draft_law)


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

    arms = [entry(arm, options.temperature) for arm in options.arm or ARMS]
    target, tokenizer = load(options.target)
    draft = IndependentDraft(load(options.draft)[0])
    chosen = load_prompts(options.prompts, options.limit)
    prompts = [(prompt, encode(tokenizer, prompt.text)) for prompt in chosen]
    result = Comparison({}, arms)
    total = len(prompts) * options.places * options.drafted * len({row.growth for _, row in arms})
    interrupted = False
    try:
        with progress() as tell:
            compare(
                target,
                draft,
                prompts,
                sampling=Sampling(temperature=options.temperature),
                draft_sampling=None if options.temperature else Sampling(),
                places=options.places,
                drafted=options.drafted,
                seed=options.seed,
                progress=lambda done: tell("contexts", done, total),
                into=result,
            )
    except KeyboardInterrupt:
        interrupted = True
        if not result.taus:
            print("interrupted before the first prompt was finished: nothing to show")
            return 130
        print(f"stopped after {len(result.taus)} prompts")
    first = result.prompt_means(arms[0][0], arms[0][1].name)
    table = []
    for place, (tree, row) in enumerate(arms):
        means = result.prompt_means(tree, row.name)
        counts = result.nodes[tree, row.name]
        line = {"arm": row.name, "nodes": sum(counts) / len(counts), "tau": vars(mean_interval(means))}
        line["gain"] = vars(gain_interval(means, first)) if place else None
        table.append(line)
        tau, gain = line["tau"], line["gain"]
        over = f"  gain {100 * gain['value']:+.1f} % [{gain['low']}, {gain['high']}]" if gain else ""
        print(f"{row.name:60} nodes {line['nodes']:5.1f}  tau {tau['value']:.3f} [{tau['low']}, {tau['high']}]{over}")
    if options.json:
        options.json.write_text(json.dumps({**result.to_dict(), "arms": table}, indent=1) + "\n")
    return 130 if interrupted else 0


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    sys.exit(main())
