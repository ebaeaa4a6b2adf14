"""The tables of `univer bench`, for a person, and what it has to say about texts that differ."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from univer.bench.intervals import intervals_note
from univer.bench.summary import ALL, PLAIN
from univer.cli.terminal import print_table, standard_output

__all__ = ["print_bench", "print_disagreements"]

# As many are printed; the summary has all of them.
SHOWN = 10
ROW = ("draft", "tree", "method")

Row = dict[str, Any]
Figure = tuple[str, Callable[[Row, bool], str]]


def print_bench(summary: dict[str, Any], settings: dict[str, Any], interrupted: bool) -> None:
    """Print a table for each figure and temperature: methods as rows, task groups as columns.

    Args:
        summary: Of `univer.bench.summary.summarise`.
        settings: Of the run.
        interrupted: Whether the user ended it.
    """
    console = standard_output()
    rows: list[Row] = summary["rows"]
    if not rows:
        console.print("interrupted before the first record: nothing to show")
        return
    figures: tuple[Figure, ...] = (
        ("tau, tokens that a round of the target commits", lambda row, whole: _interval(row["tau"], ".2f", whole)),
        (f"gain in tau over {summary['reference']}", lambda row, whole: _interval(row["gain"], "+.1%", whole)),
        ("tokens per second, prefill left out", lambda row, _: _number(row["rate"], ".1f")),
        ("speed-up over plain decoding", lambda row, whole: _interval(row["speedup"], ".2f", whole)),
    )
    for temperature in dict.fromkeys(row["temperature"] for row in rows):
        own = [row for row in rows if row["temperature"] == temperature]
        for title, cell in figures:
            _print_figure(f"{title}, temperature {temperature:g}", own, cell)
        _print_depths(temperature, own)
    counted = {row["group"]: row["prompts"] for row in rows if row["method"] == PLAIN}
    count = counted.get(ALL, 0)
    console.print(
        f"{settings['target']}, {settings['dtype']} on {settings['device']}, {count} prompt{'s' * (count != 1)}, "
        f"{settings['tokens']} new tokens a turn, seed {settings['seed']}; {intervals_note(count)}"
        + (" (interrupted: what was measured until then)" if interrupted else ""),
        soft_wrap=True,
    )


def print_disagreements(found: Sequence[dict[str, Any]], dtype: str) -> bool:
    """Say on stderr where a method did not do the work of plain decoding, or wrote another text at temperature 0.

    Args:
        found: Of `univer.bench.agreement.disagreements`.
        dtype: Of the target.

    Returns:
        Whether that is an error: near ties in lower precision than float32 are none.
    """
    for entry in found[:SHOWN]:
        where = f"prompt {entry['prompt']}: {entry['method']} on {entry['tree']} with {entry['draft']}"
        if entry["about"] == "text":
            print(
                f"univer: DIFFERENT TEXT at temperature 0, {where} has token {entry['token']} at step {entry['step']} "
                f"of turn {entry['turn']}, plain decoding {entry['plain']}",
                file=sys.stderr,
            )
        else:
            what = {"tokens": "OF ANOTHER LENGTH", "history": "AFTER ANOTHER HISTORY"}[entry["about"]]
            print(f"univer: AN ANSWER {what} than plain decoding's, {where}", file=sys.stderr)
    if len(found) > SHOWN:
        print(f"univer: and {len(found) - SHOWN} more, all of them in the summary", file=sys.stderr)
    low = dtype != "float32" and any(entry["about"] == "text" for entry in found)
    if low:
        print(f"univer: near ties in {dtype} may fall otherwise; in float32 they must not", file=sys.stderr)
    return any(entry["about"] != "text" or not low for entry in found)


def _print_figure(title: str, rows: Sequence[Row], cell: Callable[[Row, bool], str]) -> None:
    groups = [group for group in dict.fromkeys(row["group"] for row in rows) if group != ALL] + [ALL]
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        name = tuple(row[part] or "" for part in ROW)
        lines.setdefault(name, {})[row["group"]] = cell(row, row["group"] == ALL)
    shown = [[*name, *(own.get(group, "") for group in groups)] for name, own in lines.items() if any(own.values())]
    if shown:
        console = standard_output()
        console.print(title, soft_wrap=True)
        print_table((*ROW, *groups), shown)
        console.print()


def _print_depths(temperature: float, rows: Sequence[Row]) -> None:
    whole = [row for row in rows if row["group"] == ALL and row["conditional"]]
    if not whole:
        return
    deepest = max(len(row["conditional"]) for row in whole)
    lines = [
        [
            *(row[part] or "" for part in ROW),
            *(_number(value, ".2f") for value in row["conditional"]),
            *[""] * (deepest - len(row["conditional"])),
        ]
        for row in whole
    ]
    console = standard_output()
    console.print(f"acceptance at a depth given that it was reached, temperature {temperature:g}", soft_wrap=True)
    print_table((*ROW, *map(str, range(1, deepest + 1))), lines)
    console.print()


def _interval(figure: dict[str, Any] | None, form: str, with_ends: bool) -> str:
    if figure is None:
        return ""
    value = f"{figure['value']:{form}}"
    if not with_ends or figure["low"] is None:
        return value
    return f"{value} ({figure['low']:{form}} to {figure['high']:{form}})"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"
