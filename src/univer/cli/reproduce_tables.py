"""The tables of `univer reproduce`, for a person."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from univer.bench.intervals import intervals_note
from univer.bench.paper import PAPER, UNIVER_GAINS
from univer.bench.summary import ALL
from univer.cli.terminal import print_table, standard_output

if TYPE_CHECKING:
    from univer.bench.experiments import Experiment
    from univer.bench.folder import RunFolder

__all__ = ["print_experiment"]

Row = dict[str, Any]


def print_experiment(experiment: "Experiment", summary: dict[str, Any], folder: "RunFolder", interrupted: bool) -> None:
    """Print what was measured, the paper's figures beside it, and what differs between the two.

    Args:
        experiment: What was measured.
        summary: Of `univer.bench.summary.summarise`, with `paper`.
        folder: The run.
        interrupted: Whether the user ended it.
    """
    console = standard_output()
    console.print(experiment.question, soft_wrap=True)
    console.print()
    rows: list[Row] = summary["rows"]
    if not rows:
        console.print("interrupted before the first prompt was finished: nothing to show")
        return
    whole = [row for row in rows if row["group"] == ALL]
    if experiment.live:
        _print_cost([row for row in whole if row["phases"] and row["tree"]])
    else:
        _print_cells(whole, summary["paper"])
        if len(experiment.trees) * len(experiment.temperatures) > 2:
            _print_trends(whole)
        else:
            _print_groups(rows)
    _print_settings(folder, interrupted)


def _print_cells(rows: Sequence[Row], paper: Sequence[Row]) -> None:
    """A line for every method on every tree at every temperature."""
    known = {(row["tree"], row["temperature"], row["method"]): row for row in paper}
    lines = []
    for row in rows:
        cell = known.get((row["tree"], row["temperature"], row["method"]))
        lines.append(
            [
                f"{row['temperature']:g}",
                row["tree"],
                row["method"],
                f"{row['nodes']:.1f}",
                _figure(row["tau"], ".3f"),
                _figure(row["gain"], "+.1%") + _elsewhere(row),
                f"{cell['paper']:+.1%}" if cell else "",
                f"{100 * cell['difference']:+.1f} points" if cell else "",
            ]
        )
    print_table(("T", "tree", "method", "nodes", "tau", "gain over rrsw", "paper", "difference"), lines)
    standard_output().print()


def _print_groups(rows: Sequence[Row]) -> None:
    """tau and gain of every task group."""
    groups = [group for group in dict.fromkeys(row["group"] for row in rows) if group != ALL]
    for title, name, form in (("tau by task group", "tau", ".2f"), ("gain over rrsw by task group", "gain", "+.1%")):
        lines: dict[tuple[str, str], dict[str, str]] = {}
        for row in rows:
            if row[name] is not None:
                value = f"{row[name]['value']:{form}}"
                lines.setdefault((row["tree"], row["method"]), {})[row["group"]] = value
        standard_output().print(title)
        print_table(
            ("tree", "method", *groups),
            [[*cell, *(own.get(group, "") for group in groups)] for cell, own in lines.items()],
        )
        standard_output().print()


def _print_trends(rows: Sequence[Row]) -> None:
    """Whether gains rise along the rows of the experiment."""
    console = standard_output()
    trees, temperatures = (list(dict.fromkeys(row[name] for row in rows)) for name in ("tree", "temperature"))
    by_cell = {(row["tree"], row["temperature"], row["method"]): row["gain"] for row in rows}
    for method in dict.fromkeys(row["method"] for row in rows if row["gain"]):
        if len(temperatures) > 1:
            for tree in trees:
                gains = [by_cell.get((tree, temperature, method)) for temperature in sorted(temperatures)]
                console.print(f"{method} on {tree}, rising temperature: {_trend(gains)}", soft_wrap=True)
        else:
            gains = [by_cell.get((tree, temperatures[0], method)) for tree in trees]
            console.print(f"{method}, {' to '.join((trees[0], trees[-1]))}: {_trend(gains)}", soft_wrap=True)
    console.print()


def _trend(gains: Sequence[Row | None]) -> str:
    known = [gain for gain in gains if gain is not None]
    values = [gain["value"] for gain in known]
    shown = ", ".join(f"{value:+.1%}" for value in values)
    if any(gain["low"] is None for gain in known):
        return f"{shown} (too few prompts to speak of a trend)"
    rises = all(after >= before for before, after in pairwise(values))
    whole = "rises throughout" if rises else "rises from end to end, not throughout"
    verdict = whole if values and values[-1] > values[0] else "does not rise"
    return f"{shown} ({verdict})"


def _print_cost(rows: Sequence[Row]) -> None:
    """Seconds of a round by part, and what verification costs beside the target's pass."""
    lines = []
    for row in rows:
        phases = row["phases"]
        verification = phases["laws"] + phases["verification"]
        lines.append(
            [
                row["tree"],
                row["method"],
                *(f"{1000 * phases[name]:.1f}" for name in ("draft", "target", "laws", "verification", "cache")),
                f"{verification / phases['target']:.1%}",
            ]
        )
    columns = (
        "tree",
        "method",
        "draft ms",
        "target ms",
        "laws ms",
        "verification ms",
        "cache ms",
        "laws + verification",
    )
    print_table((*columns[:-1], f"{columns[-1]} / target"), lines)
    standard_output().print()


def _print_settings(folder: "RunFolder", interrupted: bool) -> None:
    settings, machine = folder.manifest["settings"], folder.manifest["machine"]
    drafts = settings.get("draft") or ", ".join(settings.get("drafts", ()))
    accelerator = machine["accelerator"] or f"{machine['processor']}, {machine['cores']} cores"
    low, high = UNIVER_GAINS
    standard_output().print(
        f"{settings['target']} with {drafts}, {settings['dtype']} on {accelerator}, {len(settings['prompts'])} prompts "
        f"({settings['questions']}), seed {settings['seed']}; {intervals_note(len(settings['prompts']))}. The "
        f"paper ({PAPER}) measured other models on other hardware; across them UniVer gained {low:.1%} to {high:.1%} "
        f"over RRSw. Run: {folder.path}" + (" (interrupted: what was measured until then)" if interrupted else ""),
        soft_wrap=True,
    )


def _figure(figure: dict[str, Any] | None, form: str) -> str:
    if figure is None:
        return ""
    if figure["low"] is None:
        return f"{figure['value']:{form}}"
    return f"{figure['value']:{form}} ({figure['low']:{form}} to {figure['high']:{form}})"


def _elsewhere(row: Row) -> str:
    """Says so where the reference is that of another tree."""
    other = row["reference_tree"]
    return f" on {other}" if row["gain"] and other != row["tree"] else ""
