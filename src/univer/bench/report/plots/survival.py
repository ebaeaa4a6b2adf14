"""How far down the tree a round gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from univer.bench.report.forms import decimal
from univer.bench.report.names import title
from univer.bench.report.plots.canvas import End, Plot, draw_band, draw_line, label_ends, panel
from univer.bench.report.runs import Row
from univer.bench.report.view import View


def survival(views: Sequence[View]) -> list[Plot]:
    """Probability that at least so many drafted tokens are kept, and that one is given the one before it."""
    plots = []
    for view in views:
        for name, rows in view.panels():
            if shown := [row for row in rows if row["survival"]]:
                plots.append(_plot(view, f"kept at all, {name}", shown, "survival"))
                plots.append(_plot(view, f"kept given the one before, {name}", shown, "conditional"))
    return plots


def _plot(view: View, name: str, rows: Sequence[Row], field: str) -> Plot:
    figure, axes = panel(len(rows))
    labels, spoken = [], []
    for row in rows:
        look = view.look(row["method"])
        points = [(place, value) for place, own in enumerate(row[field], 1) if (value := _value(own)) is not None]
        if not points:
            continue
        xs, ys = [float(place) for place, _ in points], [value for _, value in points]
        if look.main and field == "survival":
            draw_band(axes, xs, row[field], look)
        draw_line(axes, xs, ys, look)
        labels.append(End(xs[-1], ys[-1], view.abridged(title(row["method"])), look))
        spoken.append(f"{title(row['method'])} " + ", ".join(map(decimal, ys)))
    deepest = max(len(row["survival"]) for row in rows)
    axes.set_xticks(range(1, deepest + 1))
    axes.set(xlabel="position in the tree", ylabel="probability")
    axes.margins(x=0.04, y=0.08)
    if field == "survival":
        axes.set_ylim(0, 1.02)
    label_ends(axes, labels)
    return Plot(name, f"Probability by position, {name}: {'; '.join(spoken)}.", figure)


def _value(entry: Any) -> float | None:
    """A survival comes with its interval, a conditional one as a number."""
    value: float | None = entry["value"] if isinstance(entry, dict) else entry
    return value
