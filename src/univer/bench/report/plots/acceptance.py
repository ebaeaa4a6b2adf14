"""Acceptance length by method, and how far it is from the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from univer.bench.report.forms import decimal, ends
from univer.bench.report.names import title
from univer.bench.report.plots.canvas import LINE, Plot, marks, panel
from univer.bench.report.runs import Row
from univer.bench.report.view import View

Figures = list[tuple[Row, dict[str, Any]]]


def acceptance(views: Sequence[View]) -> list[Plot]:
    """A dot for every method with its interval, a panel for every tree, all on one scale."""
    found = [
        (view, name, [(row, row["tau"]) for row in rows if row["tau"]])
        for view in views
        # The methods of an audit have models of their own, so that their lengths say nothing beside each other.
        if not view.run.audit
        for name, rows in view.panels()
    ]
    return _dots(found, "acceptance length, tokens a round", "Acceptance length by method")


def gap(views: Sequence[View]) -> list[Plot]:
    """What the best lossless rule for the same trees would add, where records have that bound."""
    found = [
        (view, name, [(row, row["gap"]) for row in rows if row.get("gap")])
        for view in views
        for name, rows in view.panels()
    ]
    return _dots(found, "tokens a round below the bound", "Distance to the bound by method", digits=3)


def _dots(found: Sequence[tuple[View, str, Figures]], axis: str, what: str, digits: int = 2) -> list[Plot]:
    found = [(view, name, figures) for view, name, figures in found if figures]
    if not found:
        return []
    edges = [
        end
        for _, _, figures in found
        for _, own in figures
        for end in (own["value"], own["low"], own["high"])
        if end is not None
    ]
    margin = 0.06 * (max(edges) - min(edges)) or 0.1
    limits = (min(edges) - margin, max(edges) + margin)
    form = partial(decimal, digits=digits)
    return [_panel(view, name, figures, axis, what, limits, form) for view, name, figures in found]


def _panel(
    view: View,
    name: str,
    figures: Figures,
    axis: str,
    what: str,
    limits: tuple[float, float],
    form: Callable[[float], str],
) -> Plot:
    figure, axes = panel(len(figures), grid="x", shortest=1.1 + 1.3 * LINE * len(figures))
    spoken = []
    for place, (row, own) in enumerate(figures):
        look = view.look(row["method"])
        colour = look.colour.light
        if own["low"] is not None:
            axes.plot([own["low"], own["high"]], [place, place], color=colour, linewidth=3.2 if look.main else 1.8)
        if row["method"] == view.run.reference:
            axes.axvline(own["value"], color=colour, linewidth=0.9, linestyle=(0, (1.5, 2.5)))
        axes.plot([own["value"]], [place], linestyle="none", zorder=4, **marks(look))
        weight = "bold" if look.main else "normal"
        axes.text(1.02, place, form(own["value"]), transform=axes.get_yaxis_transform(), va="center", fontweight=weight)
        spoken.append(f"{title(row['method'])} {form(own['value'])} ({ends(own, form) or 'no interval'})")
    axes.set(xlim=limits, xlabel=axis, ylim=(len(figures) - 0.4, -0.6))
    axes.set_yticks(range(len(figures)), [view.abridged(title(row["method"])) for row, _ in figures])
    for label, (row, _) in zip(axes.get_yticklabels(), figures, strict=True):
        look = view.look(row["method"])
        label.set(color=look.colour.light, fontweight="bold" if look.main else "normal")
    return Plot(name, f"{what}, {name}: {'; '.join(spoken)}.", figure)
