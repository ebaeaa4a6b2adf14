"""Whether replay and live generation agree: what rounds kept, and the exact outcome distribution at the same places.

    python benchmarks/replay_against_live.py [--target NAME] [--draft NAME] [--questions FILE] [--count 10]
        [--method METHOD[:ORDER] ...] [--tree 2x3] [--texts 4] [--tokens 64] [--output FOLDER]
    python benchmarks/replay_against_live.py --pool FOLDER FOLDER ... [--json FILE]

Every method writes texts on every prompt. Live tau is the mean of accepted + 1 over its whole rounds. For replay,
fresh trees are drafted where these rounds began, by the code of `univer compare`, `trace` and `reproduce`, and tau
comes from their exact outcome distributions. Both are means over the same places, so their relative difference is zero
but for the noise of the draws; its interval is a bootstrap over prompts. Interrupt it to see the figures so far; with
`--output` the same command resumes. `--pool` measures nothing: it prints the table over the rounds of several such
folders, which may differ in their seeds and in the prompts that these drew.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any
from zlib import crc32

import torch

from univer.bench.checksum import ids_checksum, weights_checksum
from univer.bench.folder import RunFolder, key
from univer.bench.intervals import gain_interval
from univer.bench.measure import evaluate
from univer.bench.questions import choose
from univer.bench.rows import Row, rows_for
from univer.cli.loading import load_pair, with_prompts
from univer.cli.options import PairOptions
from univer.cli.terminal import print_table, progress, standard_output
from univer.engine import generate
from univer.engine.contexts import ContextSettings, SampledText, drafted_trees
from univer.files import CHECKSUMS, check_resumable, write_json
from univer.models.prompts import load_prompts

METHODS = ("membership", "rrsw", "traversal", "greedy", "univer", "univer:gain", "spectr-lifted")


def live_texts(
    pair: Any, ids: torch.Tensor, row: Row, texts: int, tokens: int, seed: int
) -> list[tuple[SampledText, list[int]]]:
    """Texts that a method wrote: the places where their whole rounds began, and the tokens that each of them gave.

    A text without any whole round is left out.
    """
    result = generate(
        pair.target,
        pair.draft,
        ids.expand(texts, -1),
        method=row.method,
        tree=row.policy,
        order=row.order,
        temperature=1.0,
        max_new_tokens=tokens,
        eos_token_id=None,
        seed=seed,
        generation_config=pair.generation_config,
    )
    found = []
    for text, figures in zip(result.texts, result.figures, strict=True):
        starts = accumulate((entry.emitted for entry in figures.rounds), initial=ids.shape[1] + 1)
        whole = [
            (start, entry.accepted + 1) for start, entry in zip(starts, figures.rounds, strict=False) if not entry.cut
        ]
        if whole:
            places, kept = zip(*whole, strict=True)
            found.append((SampledText(tuple(text), places), list(kept)))
    return found


def measure(
    pair: Any, name: str, ids: torch.Tensor, row: Row, texts: int, tokens: int, seed: int
) -> tuple[list[int], list[float]]:
    """One prompt and one method: what was kept live and what replay expects, round by round."""
    own = crc32(f"{seed} {name} {row.name}".encode())
    live: list[int] = []
    replay: list[float] = []
    for number, (text, kept) in enumerate(live_texts(pair, ids, row, texts, tokens, own), start=1):
        settings = ContextSettings(drafted=1)
        trees = drafted_trees(pair.target, pair.draft, text, [row.growth], settings, seed=own + number)
        live += kept
        replay += [round(evaluate(context, row).tau, 6) for context in trees]
    return live, replay


def agreement(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for every method: prompts, rounds, tau of both kinds, and the relative difference with its interval."""
    rows = []
    for method in dict.fromkeys(entry["method"] for entry in records if entry["live"]):
        own = [entry for entry in records if entry["method"] == method and entry["live"]]
        # Of several runs a prompt has several records, which are resampled together.
        sums: dict[str, tuple[int, float]] = {}
        for entry in own:
            live_sum, replay_sum = sums.get(entry["prompt"], (0, 0.0))
            sums[entry["prompt"]] = live_sum + sum(entry["live"]), replay_sum + sum(entry["taus"])
        live, replay = zip(*sums.values(), strict=True)
        rounds = sum(len(entry["live"]) for entry in own)
        rows.append(
            {
                "method": method,
                "prompts": len(sums),
                "rounds": rounds,
                "live": sum(live) / rounds,
                "replay": sum(replay) / rounds,
                "difference": vars(gain_interval(live, replay)),
            }
        )
    return rows


def print_agreement(rows: Sequence[dict[str, Any]]) -> None:
    """The table for a person."""
    lines = []
    for row in rows:
        difference = row["difference"]
        ends = f" ({difference['low']:+.1%} to {difference['high']:+.1%})" if difference["low"] is not None else ""
        figures = (f"{row['rounds']}", f"{row['live']:.3f}", f"{row['replay']:.3f}")
        lines.append([row["method"], *figures, f"{difference['value']:+.1%}{ends}"])
    print_table(("method", "rounds", "live tau", "replay tau", "live over replay"), lines)
    standard_output().print()


def pool(paths: Sequence[Path], output: Path | None) -> None:
    """Print the table over several runs, and write it.

    Raises:
        ValueError: they differ in more than their seeds and prompts.
    """
    folders = [RunFolder(path) for path in paths]
    settings = [dict(folder.manifest["settings"]) for folder in folders]
    seeds = ", ".join(str(own.pop("seed")) for own in settings)
    prompts = dict.fromkeys(name for own in settings for name in own.pop("prompts"))
    for own in settings:
        for checksum in CHECKSUMS:
            own.pop(checksum, None)
    for own in settings[1:]:
        check_resumable(settings[0], own, f"the run in {paths[0]}")
    rows = agreement([record for folder in folders for record in folder.records])
    print_agreement(rows)
    if output:
        made = settings[0] | {"seed": seeds, "prompts": list(prompts)}
        content = {"settings": made, "machine": folders[0].manifest["machine"]}
        write_json(output, content | {"agreement": rows})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="smollm2-135m")
    parser.add_argument("--draft")
    parser.add_argument("--dtype", help="float32, bfloat16 or float16; by default what suits the machine")
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--count", type=int, default=10, help="prompts of every task group")
    parser.add_argument("--method", action="append", help="METHOD[:ORDER], repeatable")
    parser.add_argument("--tree", default="2x3")
    parser.add_argument("--texts", type=int, default=4, help="texts of every method on every prompt, in one batch")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="folder of the run; resumes an interrupted run")
    parser.add_argument("--pool", nargs="+", type=Path, help="folders of runs to put together")
    parser.add_argument("--json", type=Path, help="file for what --pool finds")
    options = parser.parse_args()
    if options.pool:
        pool(options.pool, options.json)
        return

    rows = rows_for([options.tree], options.method or METHODS)
    depth = max(row.policy.max_depth for row in rows)
    # One token comes with the prompt, and a round may keep a whole path and adds one of its own.
    if options.tokens < depth + 2:
        parser.error(f"--tokens {options.tokens} is less than a whole round: trees of depth {depth} need {depth + 2}")
    chosen = choose(load_prompts(options.questions), count=options.count, seed=options.seed)
    room = options.tokens + depth
    pair = load_pair(PairOptions(target=options.target, draft=options.draft, dtype=options.dtype))
    pair = with_prompts(pair, chosen, room, ignore_config=False)
    settings = {
        "target": Path(options.target).name,
        "draft": Path(pair.draft.name).name,
        "dtype": str(pair.target.dtype).removeprefix("torch."),
        "device": pair.target.device.type,
        "temperature": 1.0,
        "tree": options.tree,
        "methods": [row.name for row in rows],
        "prompts": [prompt.name for prompt, _ in pair.prompts],
        "prompts_checksum": crc32(repr([asdict(prompt) for prompt, _ in pair.prompts]).encode()),
        "ids_checksum": ids_checksum(ids for _, ids in pair.prompts),
        "weights_checksum": weights_checksum(pair.target, [pair.draft]),
        "questions": options.questions.name if options.questions else "our own",
        "texts": options.texts,
        "tokens": options.tokens,
        "seed": options.seed,
    }
    folder = RunFolder.open(options.output, "agreement", settings) if options.output else None
    records = folder.records if folder else []
    done = {key(record) for record in records}
    total = len(pair.prompts) * len(rows)
    try:
        with progress() as tell:
            for prompt, ids in pair.prompts:
                for row in rows:
                    record = {"source": "replay", "prompt": prompt.name, "group": prompt.kind, "temperature": 1.0}
                    record |= {"draft": settings["draft"], "tree": options.tree, "method": row.name}
                    if key(record) in done:
                        continue
                    live, taus = measure(pair, prompt.name, ids, row, options.texts, options.tokens, options.seed)
                    records.append(record | {"live": live, "taus": taus})
                    if folder:
                        folder.append(records[-1])
                    tell("methods on prompts", len(records), total)
    except KeyboardInterrupt:
        print(f"stopped after {len(records)} of {total} methods on prompts")
    if not records:
        return
    table = agreement(records)
    print_agreement(table)
    if folder:
        folder.finish({"agreement": table})


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
