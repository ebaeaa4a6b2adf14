"""Tokens per second with a draft and by plain decoding: prompts of six kinds, both ways in turn in one process.

    python benchmarks/generation_speed.py [--target smollm2-135m] [--draft DRAFT] [--tree TREE] [--method METHOD]
        [--temperature 0 --temperature 0.6 --temperature 1] [--limit 24] [--prompts FILE] [--tokens 128]
        [--dtype DTYPE] [--json FILE]

Without `--draft`, `--tree` and `--dtype` these are the defaults of `univer generate`. Where that is not bfloat16, plain
decoding in bfloat16 is measured as well. All ways generate the same number of tokens (no text ends early),
the way that goes first changes from prompt to prompt, and the first prompt is run once unmeasured. Rates count all
phases, the prefill included. The ratio of a group is total time against total time; its interval is a paired bootstrap
over prompts. tau is the mean over rounds of a prompt, then over prompts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from univer import generate
from univer.bench.intervals import gain_interval, mean_interval
from univer.cli.loading import load_pair
from univer.cli.options import PairOptions
from univer.cli.terminal import progress
from univer.engine.stats import GenerationStats
from univer.files import write_json
from univer.models import load
from univer.models.catalogue import DEFAULT_MODEL
from univer.models.machine import machine
from univer.models.prompts import encode, load_prompts


def run(target: Any, draft: Any, ids: Tensor, temperature: float, options: argparse.Namespace) -> GenerationStats:
    """Decode one prompt to the full length."""
    return generate(
        target,
        draft,
        ids,
        method=options.method,
        tree=options.tree,
        temperature=temperature,
        max_new_tokens=options.tokens,
        eos_token_id=None,
        seed=options.seed,
    ).stats


def record(name: str, kind: str, temperature: float, stats: dict[str, GenerationStats]) -> dict[str, Any]:
    """The figures of one prompt at one temperature."""
    drafted = stats["drafted"]
    return {
        "prompt": name,
        "kind": kind,
        "temperature": temperature,
        "seconds": {way: own.total_seconds for way, own in stats.items()},
        "tokens": drafted.new_tokens,
        "tau": drafted.tau,
        "nodes": drafted.drafted / len(drafted.rounds),
        "phases": {phase: seconds / len(drafted.rounds) for phase, seconds in drafted.seconds.items()},
    }


def summary(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per temperature and kind, and one for all kinds."""
    lines = []
    for temperature in sorted({entry["temperature"] for entry in records}):
        of_temperature = [entry for entry in records if entry["temperature"] == temperature]
        for kind in ("all", *dict.fromkeys(entry["kind"] for entry in of_temperature)):
            group = [entry for entry in of_temperature if kind in ("all", entry["kind"])]
            seconds = {way: [entry["seconds"][way] for entry in group] for way in group[0]["seconds"]}
            tokens = sum(entry["tokens"] for entry in group)
            lines.append(
                {
                    "temperature": temperature,
                    "kind": kind,
                    "prompts": len(group),
                    "rates": {way: tokens / sum(own) for way, own in seconds.items()},
                    "ratios": {way: ratio(own, seconds["drafted"]) for way, own in seconds.items() if way != "drafted"},
                    "tau": vars(mean_interval([entry["tau"] for entry in group])),
                    "nodes": sum(entry["nodes"] for entry in group) / len(group),
                }
            )
    return lines


def ratio(plain: list[float], drafted: list[float]) -> dict[str, float | None]:
    """How many times faster, with its interval."""
    gain = gain_interval(plain, drafted)
    low, high = (None if end is None else 1 + end for end in (gain.low, gain.high))
    return {"value": 1 + gain.value, "low": low, "high": high}


def show(line: dict[str, Any]) -> str:
    """A line of the table."""
    rates = "  ".join(f"{way} {rate:.1f}" for way, rate in line["rates"].items())
    ratios = "  ".join(f"over {way} {_with_interval(own)}" for way, own in line["ratios"].items())
    return (
        f"T={line['temperature']:<4} {line['kind']:24} tokens/s: {rates}  {ratios}  tau {_with_interval(line['tau'])}  "
        f"nodes {line['nodes']:.1f}"
    )


def _with_interval(figure: dict[str, float | None]) -> str:
    """A figure; a single prompt has no interval."""
    if figure["low"] is None or figure["high"] is None:
        return f"{figure['value']:.2f}"
    return f"{figure['value']:.2f} ({figure['low']:.2f} to {figure['high']:.2f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default=DEFAULT_MODEL)
    parser.add_argument("--draft")
    parser.add_argument("--tree")
    parser.add_argument("--method", default="univer")
    parser.add_argument("--temperature", type=float, action="append")
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--limit", type=int, default=24)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    pair = load_pair(PairOptions(target=options.target, draft=options.draft, dtype=options.dtype))
    target, tokenizer, draft = pair.target, pair.tokenizer, pair.draft
    options.dtype = str(target.dtype).removeprefix("torch.")
    prompts = [(prompt, encode(tokenizer, prompt.text)) for prompt in load_prompts(options.prompts, options.limit)]
    temperatures = options.temperature or [0.0, 0.6, 1.0]
    records: list[dict[str, Any]] = []
    ways: dict[str, tuple[Any, Any]] = {"plain": (target, None), "drafted": (target, draft)}
    if target.dtype != torch.bfloat16:
        ways["plain bfloat16"] = load(options.target, "bfloat16")[0], None
    with progress() as tell:
        for model, own in ways.values():
            run(model, own, prompts[0][1], 1.0, options)
        try:
            for number, (prompt, ids) in enumerate(prompts):
                for place, temperature in enumerate(temperatures):
                    turn = (number + place) % len(ways)
                    order = [*ways][turn:] + [*ways][:turn]
                    stats = {way: run(*ways[way], ids, temperature, options) for way in order}
                    records.append(record(prompt.name, prompt.kind, temperature, stats))
                tell("prompts", number + 1, len(prompts))
        except KeyboardInterrupt:
            print(f"stopped: {len(records)} of {len(prompts) * len(temperatures)} measured")
    lines = summary(records)
    for line in lines:
        print(show(line))
    if options.json:
        settings = vars(options) | {
            "json": None,
            "prompts": str(options.prompts) if options.prompts else "bench/prompts",
        }
        content = {"settings": settings, "machine": machine(), "summary": lines, "records": records}
        write_json(options.json, content)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
