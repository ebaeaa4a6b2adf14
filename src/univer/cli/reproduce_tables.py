"""The tables of `univer reproduce`, for a person."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from univer.bench.intervals import gain_change, intervals_note
from univer.bench.paper import PAPER, UNIVER_GAINS
from univer.bench.summary import ALL, REFERENCE, tau_of
from univer.cli.terminal import print_table, standard_output

if TYPE_CHECKING:
    from univer.bench.experiments import Experiment
    from univer.bench.folder import Record, RunFolder

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
            _print_trends(whole, folder.records)
        else:
            _print_groups(rows)
    _print_settings(folder, max(row["prompts"] for row in whole), interrupted)


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


def _print_trends(rows: Sequence[Row], records: Sequence["Record"]) -> None:
    """Whether gains rise along the rows of the experiment."""
    console = standard_output()
    trees, temperatures = (list(dict.fromkeys(row[name] for row in rows)) for name in ("tree", "temperature"))
    known = {(row["tree"], row["temperature"], row["method"]): row["gain"] for row in rows}
    for method in dict.fromkeys(row["method"] for row in rows if row["gain"]):
        series = {f"{method}, {trees[0]} to {trees[-1]}": [(tree, temperatures[0]) for tree in trees]}
        if len(temperatures) > 1:
            series = {
                f"{method} on {tree}, rising temperature": [(tree, value) for value in sorted(temperatures)]
                for tree in trees
            }
        for title, places in series.items():
            gains = [gain for place in places if (gain := known.get((*place, method))) is not None]
            ends = [_taus(records, place, name) for place in (places[-1], places[0]) for name in (method, REFERENCE)]
            console.print(f"{title}: {_trend(gains, ends)}", soft_wrap=True)
    console.print()


def _taus(records: Sequence["Record"], place: tuple[str, float], method: str) -> dict[str, float]:
    """tau of a method on every prompt."""
    return {
        record["prompt"]: tau
        for record in records
        if (record["tree"], record["temperature"], record["method"]) == (*place, method)
        and (tau := tau_of(record)) is not None
    }


def _trend(gains: Sequence[Row], ends: Sequence[dict[str, float]]) -> str:
    """Gains in a row, and whether the last is above the first.

    Args:
        gains: the gains.
        ends: tau by prompt of the method and its reference at the last place, and of both at the first.
    """
    values = [gain["value"] for gain in gains]
    shown = ", ".join(f"{value:+.1%}" for value in values)
    prompts = sorted(set.intersection(*map(set, ends)))
    if not prompts:
        return shown
    last, last_reference, first, first_reference = ([end[prompt] for prompt in prompts] for end in ends)
    change = gain_change(last, last_reference, first, first_reference)
    if change.low is None or change.high is None:
        return f"{shown} (too few prompts to speak of a trend)"
    if change.low <= 0 <= change.high:
        verdict = "neither rises nor falls as far as can be told"
    elif change.value < 0:
        verdict = "falls"
    elif all(after >= before for before, after in pairwise(values)):
        verdict = "rises throughout"
    else:
        verdict = "rises from end to end, not throughout"
    ends_text = " to ".join(f"{100 * end:+.1f}" for end in (change.low, change.high))
    return f"{shown} ({verdict}: last less first {100 * change.value:+.1f} points, {ends_text})"


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


def _print_settings(folder: "RunFolder", prompts: int, interrupted: bool) -> None:
    settings, machine = folder.manifest["settings"], folder.manifest["machine"]
    drafts = settings.get("draft") or ", ".join(settings.get("drafts", ()))
    accelerator = machine["accelerator"] or f"{machine['processor']}, {machine['cores']} cores"
    low, high = UNIVER_GAINS
    asked = len(settings["prompts"])
    seen = f"{asked} prompts" if prompts == asked else f"{prompts} of {asked} prompts"
    standard_output().print(
        f"{settings['target']} with {drafts}, {settings['dtype']} on {accelerator}, {seen} "
        f"({settings['questions']}), seed {settings['seed']}; {intervals_note(prompts)}. The "
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
