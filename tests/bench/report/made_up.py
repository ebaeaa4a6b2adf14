"""Run folders with records that nobody measured: plausible figures by a formula, to look at reports with.

    python tests/bench/report/made_up.py FOLDER

writes a replay and a live run below FOLDER.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from univer.bench.folder import RECORDS, RunFolder

GROUPS = ("mt_bench", "translation", "summarization", "qa", "math_reasoning", "rag")
# How much of what a method could lose at a position it wins back.
METHODS = {
    "rrsw": 0.0,
    "traversal": 0.06,
    "spectr-lifted": -0.05,
    "greedy": 0.1,
    "univer": 0.17,
    "univer (gain)": 0.2,
    "membership": -0.16,
}
TREES = {"2x5": (5, 62), "3x3": (3, 39)}
TEMPERATURES = (0.3, 0.6, 1.0)
SETTINGS = {
    "target": "made-up-target",
    "draft": "made-up-draft",
    "note": "no model: figures by the formula in tests/bench/report/made_up.py",
    "dtype": "float32",
    "device": "cpu",
    "temperatures": list(TEMPERATURES),
    "trees": list(TREES),
    "methods": list(METHODS),
    "contexts": 8,
    "seed": 0,
}


def survival(method: str, depth: int, temperature: float, ease: float) -> list[float]:
    """Chance that at least 1, 2, ... drafted tokens are kept; methods differ less at low temperatures."""
    kept, found = 1.0, []
    for position in range(depth):
        missed = (0.14 + 0.12 * temperature + 0.015 * position) * (1 - ease)
        kept *= 1 - missed * (1 - METHODS[method] * temperature)
        found.append(kept)
    return found


def replay_records(
    per_group: int = 2,
    methods: Sequence[str] = tuple(METHODS),
    trees: Sequence[str] = tuple(TREES),
    temperatures: Sequence[float] = TEMPERATURES,
    bound: bool = False,
) -> list[dict[str, Any]]:
    """Records of a replay: every method on every tree at every temperature."""
    random, records = np.random.default_rng(0), []
    for number, group in enumerate(GROUPS * per_group):
        ease = float(random.uniform(0.0, 0.6))
        for tree, temperature in ((tree, temperature) for tree in trees for temperature in temperatures):
            for method in methods:
                depth, nodes = TREES[tree]
                curve = survival(method, depth, temperature, ease)
                record = {
                    "source": "replay",
                    "prompt": f"{group}-{number}",
                    "group": group,
                    "draft": "made-up-draft",
                    "tree": tree,
                    "method": method,
                    "temperature": temperature,
                    "taus": [1 + sum(curve) + float(noise) for noise in random.normal(0, 0.03, 4)],
                    "nodes": nodes,
                    "survival": curve,
                    "error": 1e-4,
                }
                if bound:
                    record["bound"] = 1 + sum(survival("univer (gain)", depth, temperature, ease)) + 0.02
                records.append(record)
    return records


def live_records(
    per_group: int = 2, methods: Sequence[str] = tuple(METHODS), trees: Sequence[str] = tuple(TREES)
) -> list[dict[str, Any]]:
    """Records of texts that were generated, with plain decoding among them, at temperature 1."""
    random, records, tokens = np.random.default_rng(1), [], 128
    for number, group in enumerate(GROUPS * per_group):
        ease = float(random.uniform(0.0, 0.6))
        common = {"source": "live", "prompt": f"{group}-{number}", "group": group, "temperature": 1.0, "tokens": tokens}
        plain = {"prefill": 0.11, "draft": 0.0, "target": 0.041 * 127, "laws": 0.0009 * 127, "verification": 0.0}
        plain["cache"] = 0.0004 * 127
        records.append(
            common
            | {"draft": None, "tree": None, "method": "plain", "passes": 128, "rounds": 127, "nodes": 0, "tau": None}
            | {"survival": [], "seconds": plain, "ids": number}
        )
        for tree, method in ((tree, method) for tree in trees for method in methods):
            depth, nodes = TREES[tree]
            curve = survival(method, depth, 1.0, ease)
            tau = 1 + sum(curve) + float(random.normal(0, 0.08))
            rounds = round(tokens / tau)
            pass_seconds = 0.041 + 0.00035 * nodes + float(random.normal(0, 0.0006))
            seconds = {
                "prefill": 0.13,
                "draft": rounds * 0.0042 * depth,
                "target": rounds * pass_seconds,
                "laws": rounds * 0.0021,
                "verification": rounds * (0.003 if method.startswith("univer") else 0.0022),
                "cache": rounds * 0.0012,
            }
            records.append(
                common
                | {"draft": "made-up-draft", "tree": tree, "method": method, "passes": rounds + 1, "rounds": rounds}
                | {"nodes": nodes, "tau": tau, "survival": curve, "seconds": seconds, "ids": number}
            )
    return records


def write_run(path: Path, kind: str, records: Sequence[dict[str, Any]], **settings: Any) -> RunFolder:
    """A run folder with these records, without a summary, as a run under way leaves it."""
    folder = RunFolder.open(path, kind, SETTINGS | settings)
    (path / RECORDS).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return folder


if __name__ == "__main__":
    place = Path(sys.argv[1])
    write_run(place / "replay", "replay", replay_records())
    write_run(place / "live", "spec-bench", live_records())
