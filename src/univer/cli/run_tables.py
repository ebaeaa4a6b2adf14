"""The tables of the commands that measure: `univer compare`, `replay`, `reproduce` and `bench`."""

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from univer.bench.folder import Record, RunFolder
from univer.bench.intervals import gain_change, intervals_note
from univer.bench.rows import Row
from univer.bench.summary import ALL, REFERENCE, tau_of
from univer.cli.terminal import print_table, standard_output

__all__ = ["print_by_group", "print_cells", "print_costs", "print_disagreements", "print_settings", "print_trends"]

Figures = dict[str, Any]

CELLS = ("T", "tree", "method", "scheme", "nodes", "tau", "gain over rrsw", "paper", "difference", "prompts")
# Columns that a table without any such figure goes without.
OPTIONAL = ("gain over rrsw", "paper", "difference")
# The figures of a table by task group: name in a row of the summary, title, format.
BY_GROUP = (
    ("tau", "tau, tokens that a round of the target commits", ".2f"),
    ("gain", f"gain in tau over {REFERENCE}", "+.1%"),
    ("rate", "tokens per second without the prefill", ".1f"),
    ("speedup", "speed-up over plain decoding", ".2f"),
)
PHASES = ("draft", "target", "distributions", "verification", "cache")
# At most so many disagreements are printed; the summary has all of them.
SHOWN = 10


def print_cells(summary: Figures, rows: Sequence[Row]) -> None:
    """Print a line for every method on every tree at every temperature, over all prompts.

    Args:
        summary: Of `univer.bench.summarise`, with `paper`, see `univer.bench.paper.beside_paper`.
        rows: What was asked for; a resumed run may have more.
    """
    known = {(row.tree, row.name): row for row in rows}
    paper = {_cell(row): row for row in summary["paper"]}
    lines = []
    for found in _overall(summary):
        row, beside = known.get((found["tree"], found["method"])), paper.get(_cell(found))
        if row is None:
            continue
        gain = _figure(found["gain"], "+.1%", needs_interval=True)
        if len(gain) > 1 and found["reference_tree"] != row.tree:
            gain += f" on {found['reference_tree']}"
        shown = beside if beside and beside["gain"]["low"] is not None else None
        lines.append(
            [
                f"{found['temperature']:g}",
                row.tree,
                row.name + ("" if row.method.exact else " (lossy)"),
                row.law,
                f"{found['nodes']:.1f}",
                _figure(found["tau"], ".3f"),
                gain,
                f"{beside['paper']:+.1%}" if beside else "",
                f"{100 * shown['difference']:+.1f} points" if shown else "",
                str(found["prompts"]),
            ]
        )
    if lines:
        columns = [
            place for place, name in enumerate(CELLS) if name not in OPTIONAL or any(line[place] for line in lines)
        ]
        print_table([CELLS[place] for place in columns], [[line[place] for place in columns] for line in lines])
        standard_output().print()


def print_by_group(summary: Figures) -> None:
    """Print a table for each figure and temperature: methods as rows, task groups as columns.

    Args:
        summary: Of `univer.bench.summarise`.
    """
    for temperature in dict.fromkeys(row["temperature"] for row in summary["rows"]):
        rows = [row for row in summary["rows"] if row["temperature"] == temperature]
        groups = [group for group in dict.fromkeys(row["group"] for row in rows) if group != ALL] + [ALL]
        counts = [_counted({row["prompts"] for row in rows if row["group"] == group}) for group in groups]
        headings = [f"{group} ({count})" for group, count in zip(groups, counts, strict=True)]
        for name, title, form in BY_GROUP:
            lines: dict[tuple[str, ...], dict[str, str]] = {}
            for row in rows:
                value = row[name] if isinstance(row[name], dict | None) else {"value": row[name], "low": None}
                cell = _figure(value, form, needs_interval=name == "gain", ends=row["group"] == ALL)
                lines.setdefault(_names(row), {})[row["group"]] = cell
            _print_methods(
                f"{title}, temperature {temperature:g} (prompts)",
                headings,
                [[*names, *(by_group.get(group, "") for group in groups)] for names, by_group in lines.items()],
            )
        deep = [row for row in rows if row["group"] == ALL and row["conditional"]]
        depths = range(max((len(row["conditional"]) for row in deep), default=0))
        _print_methods(
            f"acceptance at a depth given that it was reached, temperature {temperature:g}",
            [str(depth + 1) for depth in depths],
            [[*_names(row), *(_at(row["conditional"], depth) for depth in depths)] for row in deep],
        )


def print_trends(summary: Figures, records: Sequence[Record]) -> None:
    """Print for every method whether its gain rises along the trees or temperatures of an experiment.

    Args:
        summary: Of `univer.bench.summarise`.
        records: Those it was made from.
    """
    rows, console = _overall(summary), standard_output()
    trees, temperatures = (list(dict.fromkeys(row[name] for row in rows)) for name in ("tree", "temperature"))
    known = {_cell(row): row["gain"] for row in rows}
    for method in dict.fromkeys(row["method"] for row in rows if row["gain"]):
        series = {f"{method}, {trees[0]} to {trees[-1]}": [(tree, temperatures[0]) for tree in trees]}
        if len(temperatures) > 1:
            series = {
                f"{method} on {tree}, rising temperature": [(tree, value) for value in sorted(temperatures)]
                for tree in trees
            }
        for title, places in series.items():
            gains = [gain["value"] for place in places if (gain := known.get((*place, method))) is not None]
            ends = [_taus(records, place, name) for place in (places[-1], places[0]) for name in (method, REFERENCE)]
            console.print(f"{title}: {_trend(gains, ends)}", soft_wrap=True)
    console.print()


def print_costs(summary: Figures) -> None:
    """Print seconds of a round by phase, and what verification costs relative to the target's pass.

    Args:
        summary: Of `univer.bench.summarise`, of a live run.
    """
    lines = []
    for row in _overall(summary):
        if row["phases"] and row["tree"]:
            phases = row["phases"]
            share = (phases["distributions"] + phases["verification"]) / phases["target"]
            seconds = (f"{1000 * phases[name]:.1f}" for name in PHASES)
            lines.append([row["tree"], row["method"], *seconds, f"{share:.1%}"])
    headings = [f"{name} ms" for name in PHASES]
    print_table(("tree", "method", *headings, "distributions + verification / target"), lines)
    standard_output().print()


def print_settings(folder: RunFolder, summary: Figures, interrupted: bool, note: str = "") -> None:
    """Print what the figures were measured with, in a paragraph.

    Args:
        folder: The run.
        summary: Of `univer.bench.summarise`.
        interrupted: Whether the user interrupted it.
        note: A further sentence.
    """
    console = standard_output()
    rows = _overall(summary)
    if not rows:
        console.print("interrupted before the first prompt was finished: nothing to show")
        return
    settings, machine = folder.settings, folder.manifest["machine"]
    sampled = settings.get("experiment", settings)
    prompts, asked = max(row["prompts"] for row in rows), len(settings["prompts"])
    parts = [
        f"{settings['target']} with {settings.get('draft') or ', '.join(settings['drafts'])}",
        f"{settings['dtype']} on {machine['accelerator'] or machine['processor']}",
        (f"{prompts} of " if prompts < asked else "") + _plural(asked, "prompt"),
    ]
    if "questions" in settings:
        parts[-1] += f" ({settings['questions'] or 'our own'})"
    if replayed := [record["taus"] for record in folder.records if "taus" in record]:
        counts = {len(taus) // sampled["drafted"] for taus in replayed}
        parts += [f"{_counted(counts)} contexts each", f"{_plural(sampled['drafted'], 'drafted tree')} per context"]
    if "tokens" in settings:
        parts.append(f"{settings['tokens']} new tokens a turn")
    parts += [f"seed {settings['seed']}", intervals_note(prompts)]
    versions = [f"{name} {machine['versions'][name]}" for name in ("univer", "torch", "transformers")]
    text = ", ".join(parts + versions) + "."
    if interrupted:
        text += " Interrupted: these are the figures so far."
    console.print(f"{text} {note}".strip(), soft_wrap=True)


def print_disagreements(found: Sequence[Figures], dtype: str) -> bool:
    """Say on stderr where a method did not do the work of plain decoding, or wrote another text at temperature 0.

    Args:
        found: Of `univer.bench.agreement.disagreements`.
        dtype: Of the target.

    Returns:
        Whether that is an error: other texts are none in lower precision than float32, where near ties may differ.
    """
    about = {
        "tokens": "ANOTHER NUMBER OF TOKENS",
        "history": "ANOTHER HISTORY",
        "text": "ANOTHER TEXT at temperature 0",
    }
    for entry in found[:SHOWN]:
        where = f"prompt {entry['prompt']}, {entry['method']} on {entry['tree']} with {entry['draft']}"
        if entry["about"] == "text":
            where += f", turn {entry['turn']}, step {entry['step']}: token {entry['token']}, plain {entry['plain']}"
        print(f"univer: {about[entry['about']]} than plain decoding: {where}", file=sys.stderr)
    if len(found) > SHOWN:
        print(f"univer: and {len(found) - SHOWN} more, all of them in the summary", file=sys.stderr)
    near_ties = dtype != "float32" and any(entry["about"] == "text" for entry in found)
    if near_ties:
        print(f"univer: near ties may fall differently in {dtype}; in float32 they must not", file=sys.stderr)
    return any(entry["about"] != "text" or not near_ties for entry in found)


def _overall(summary: Figures) -> list[Figures]:
    """The rows over all prompts."""
    return [row for row in summary["rows"] if row["group"] == ALL]


def _cell(row: Figures) -> tuple[Any, ...]:
    return row["tree"], row["temperature"], row["method"]


def _names(row: Figures) -> tuple[str, ...]:
    return row["draft"] or "", row["tree"] or "", row["method"]


def _print_methods(title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print the lines that have a figure."""
    shown = [line for line in lines if any(line[3:])]
    if shown:
        standard_output().print(title, soft_wrap=True)
        print_table(("draft", "tree", "method", *headings), shown)
        standard_output().print()


def _figure(figure: Figures | None, form: str, needs_interval: bool = False, ends: bool = True) -> str:
    """A figure with its interval; a gain is not shown without one."""
    if figure is None or figure["value"] is None:
        return ""
    if figure["low"] is None:
        return "-" if needs_interval else f"{figure['value']:{form}}"
    return f"{figure['value']:{form}}" + (f" ({figure['low']:{form}} to {figure['high']:{form}})" if ends else "")


def _at(conditional: Sequence[float | None], depth: int) -> str:
    if depth >= len(conditional):
        return ""
    value = conditional[depth]
    return "-" if value is None else f"{value:.2f}"


def _counted(counts: set[int]) -> str:
    return f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def _plural(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _taus(records: Sequence[Record], place: tuple[str, float], method: str) -> dict[str, float]:
    """tau of a method on every prompt."""
    return {
        record["prompt"]: tau
        for record in records
        if _cell(record) == (*place, method) and (tau := tau_of(record)) is not None
    }


def _trend(gains: Sequence[float], ends: Sequence[dict[str, float]]) -> str:
    """Gains in a row, and whether the last is above the first.

    Args:
        gains: The gains.
        ends: tau by prompt of the method and its reference at the last place, and of both at the first.
    """
    prompts = sorted(set.intersection(*map(set, ends)))
    last, last_reference, first, first_reference = ([end[prompt] for prompt in prompts] for end in ends)
    change = gain_change(last, last_reference, first, first_reference) if prompts else None
    if change is None or change.low is None or change.high is None:
        return "too few prompts to speak of a trend"
    if change.low <= 0 <= change.high:
        trend = "no clear trend"
    elif change.value < 0:
        trend = "falls"
    elif all(after >= before for before, after in pairwise(gains)):
        trend = "rises throughout"
    else:
        trend = "rises from end to end, not throughout"
    shown = ", ".join(f"{gain:+.1%}" for gain in gains)
    interval = f"{100 * change.low:+.1f} to {100 * change.high:+.1f}"
    return f"{shown} ({trend}: last less first {100 * change.value:+.1f} points, {interval})"
