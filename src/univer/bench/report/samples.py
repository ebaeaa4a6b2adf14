"""How sure the figures of a report are: an interval and a sample size for each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from univer.bench.folder import Record
from univer.bench.intervals import ratio_interval
from univer.bench.summary import ALL, CELL, by_cell, decode_seconds

# A figure with the fields of `univer.bench.intervals.Interval`.
Figure = dict[str, Any]


def add_intervals(rows: Sequence[dict[str, Any]], records: Sequence[Record]) -> None:
    """Complete the rows of a summary in place, so that every figure has its interval and its sample size.

    Tokens per second and, by position, the probability of keeping it given the one before become mappings with the
    fields of `Interval`. A gain or a speed-up without an interval becomes None: over so few prompts its sign says
    nothing.

    Args:
        rows: rows of `summarise`.
        records: the records they were made from.
    """
    cells = by_cell(records)
    for row in rows:
        for name in ("gain", "speedup"):
            if row[name] is not None and row[name]["low"] is None:
                row[name] = None
        if row["group"] == ALL:
            _add_to(row, cells[tuple(row[name] for name in CELL)].values())


def _add_to(row: dict[str, Any], records: Collection[Record]) -> None:
    if row["rate"] is not None:
        timed = [record for record in records if decode_seconds(record) > 0]
        tokens = [record["tokens"] - record.get("turns", 1) for record in timed]
        row["rate"] = vars(ratio_interval(tokens, list(map(decode_seconds, timed))))
    curves = [[1.0, *(record.get("survival") or [])] for record in records]
    for place, value in enumerate(row["conditional"]):
        reached = [curve for curve in curves if len(curve) > place and curve[place] > 0]
        after = [curve[place + 1] if len(curve) > place + 1 else 0.0 for curve in reached]
        before = [curve[place] for curve in reached]
        row["conditional"][place] = None if value is None else vars(ratio_interval(after, before))
