"""The kinds of plots in a report, each from the rows of all its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from univer.bench.intervals import FEWEST
from univer.bench.report.drawing import Plot, bars, lines, marks
from univer.bench.report.forms import signed_percent, tenths, thousandths
from univer.bench.report.names import title
from univer.bench.report.runs import Row
from univer.bench.report.samples import Figure
from univer.bench.report.tables import POSITIONS, round_time
from univer.bench.report.view import View
from univer.bench.summary import PLAIN


def acceptance(views: Sequence[View]) -> list[Plot]:
    """Acceptance length of every method, a panel for every tree."""
    # The methods of an audit were enumerated on different models, so their lengths cannot be compared.
    panels = _panels([view for view in views if not view.run.audit], "tau")
    return marks(panels, "tau", "acceptance length, tokens a round")


def gap(views: Sequence[View]) -> list[Plot]:
    """Distance of every method to the best lossless rule for the same trees."""
    return marks(_panels(views, "gap"), "gap", "tokens a round below the bound", thousandths)


def depth(views: Sequence[View]) -> list[Plot]:
    """Acceptance length and gain by tree, where the trees of a run differ in depth."""
    plots = []
    for view in views:
        for draft in view.drafts:
            rows = view.of(draft, temperature=view.temperature)
            depths: dict[str, tuple[int, float]] = {}
            for row in rows:
                deepest, largest = depths.get(row["tree"], (0, 0.0))
                depths[row["tree"]] = (max(deepest, len(row["survival"])), max(largest, row["nodes"] or 0.0))
            if len({deepest for deepest, _ in depths.values()}) < 2:
                continue
            places = {tree: float(place) for place, tree in enumerate(sorted(depths, key=depths.__getitem__))}
            ticks = {place: f"{tree}\ndepth {depths[tree][0]}" for tree, place in places.items()}
            name = view.title(f"temperature {view.temperature:g}", draft=draft, rows=rows)
            plots += _tau_and_gain(view, name, [(places[row["tree"]], row) for row in rows], ticks, "tree")
    return plots


def temperature(views: Sequence[View]) -> list[Plot]:
    """Acceptance length and gain by temperature, where a run has several."""
    plots = []
    for view in views:
        for draft in view.drafts:
            for tree in view.trees:
                rows = view.of(draft, tree)
                ticks = {row["temperature"]: f"{row['temperature']:g}" for row in rows}
                if len(ticks) > 1:
                    name = view.title(tree, draft=draft, rows=rows)
                    plots += _tau_and_gain(
                        view, name, [(row["temperature"], row) for row in rows], ticks, "temperature"
                    )
    return plots


def survival(views: Sequence[View]) -> list[Plot]:
    """Probability that a round keeps at least so many tokens, and that it keeps one given the one before."""
    plots = []
    for view, name, rows in _panels(views, "survival"):
        for field, what in POSITIONS.items():
            points = [(float(place), row, figure) for row in rows for place, figure in enumerate(row[field], 1)]
            ticks = {place: f"{place:g}" for place, _, _ in points}
            plots.append(lines(view, f"{what}, {name}", points, ("position in the tree", "probability"), ticks=ticks))
    return plots


def speed(views: Sequence[View]) -> list[Plot]:
    """Tokens per second of every method, a panel for every tree, and against the nodes of several trees."""
    panels = [(view, name, [*_plain(view), *rows]) for view, name, rows in _panels(views, "rate")]
    plots = marks(panels, "rate", "tokens per second", tenths)
    for view in views:
        level = next(((PLAIN, row["rate"]["value"]) for row in _plain(view) if row["rate"]), None)
        for draft in view.drafts:
            rows = [row for row in view.of(draft, temperature=view.temperature) if row["rate"] and row["nodes"]]
            if len({row["tree"] for row in rows}) > 1:
                name = view.title("all trees", f"temperature {view.temperature:g}", draft=draft, rows=rows)
                points = [(row["nodes"], row, row["rate"]) for row in rows]
                plots.append(lines(view, name, points, ("nodes a round, mean", "tokens per second"), level=level))
    return plots


def phases(views: Sequence[View]) -> list[Plot]:
    """Milliseconds of a round by phase, a panel for every tree, all on one scale."""
    panels = []
    for view, name, rows in _panels(views, "phases"):
        known = [row for row in (*_plain(view), *rows) if row["phases"] and row["prompts"] >= FEWEST]
        panels.append((view, name, known))
    longest = max((round_time(row) for _, _, rows in panels for row in rows), default=0.0)
    return [bars(view, name, rows, longest) if rows else Plot(name) for view, name, rows in panels]


# By name, which is part of ids and of file names.
CHAPTERS: dict[str, Callable[[Sequence[View]], list[Plot]]] = {
    draw.__name__: draw for draw in (acceptance, depth, temperature, survival, speed, phases, gap)
}


def _panels(views: Sequence[View], field: str) -> list[tuple[View, str, list[Row]]]:
    """The rows that have a field, by draft and tree, with the title of their panel."""
    panels = []
    for view in views:
        for draft, tree, rows in view.panels(view.temperature):
            if known := [row for row in rows if row.get(field)]:
                name = view.title(tree, f"temperature {view.temperature:g}", draft=draft, rows=known)
                panels.append((view, name, known))
    return panels


def _plain(view: View) -> list[Row]:
    return [row for row in view.rows if row["method"] == PLAIN]


def _tau_and_gain(
    view: View, name: str, rows: Sequence[tuple[float, Row]], ticks: dict[float, str], axis: str
) -> list[Plot]:
    """The acceptance length along an axis, and the gain, which shows small differences."""
    gain = f"gain over {title(view.run.reference)}"
    settings: dict[str, Any] = {"form": signed_percent, "level": (view.run.reference, 0.0)}
    plots = []
    for field, what, unit, more in (
        ("tau", "acceptance length", "tokens a round", {}),
        ("gain", gain, gain, settings),
    ):
        points: list[tuple[float, Row, Figure]] = [(place, row, row[field]) for place, row in rows if row[field]]
        if points:
            plots.append(lines(view, f"{what}, {name}", points, (axis, unit), ticks=ticks, **more))
    return plots
