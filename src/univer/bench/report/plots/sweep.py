"""Acceptance length and gain as something grows: the depth of the trees, or the temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from univer.bench.report.forms import MINUS, decimal, signed_percent
from univer.bench.report.names import title, tree_title
from univer.bench.report.plots.canvas import End, Plot, draw_band, draw_line, label_ends, panel
from univer.bench.report.runs import Row
from univer.bench.report.view import View

Lines = dict[str, list[tuple[float, Row]]]


def depth(views: Sequence[View]) -> list[Plot]:
    """Acceptance length and gain against the trees of a run, by their depth, where depths differ."""
    plots = []
    for view in views:
        temperature = view.chosen["temperature"]
        for draft in view.drafts:
            rows = view.of(draft, temperature=temperature)
            depths: dict[str, tuple[int, float]] = {}
            for row in rows:
                deepest, largest = depths.get(row["tree"], (0, 0.0))
                depths[row["tree"]] = (max(deepest, len(row["survival"])), max(largest, row["nodes"] or 0.0))
            trees = sorted(depths, key=depths.__getitem__)
            if len({deepest for deepest, _ in depths.values()}) < 2:
                continue
            ticks = {float(place): f"{tree_title(tree)}\ndepth {depths[tree][0]}" for place, tree in enumerate(trees)}
            lines: Lines = {}
            for row in rows:
                lines.setdefault(row["method"], []).append((float(trees.index(row["tree"])), row))
            plots += _pair(view, view.title(f"temperature {temperature:g}", draft=draft), lines, ticks, "")
    return plots


def temperature(views: Sequence[View]) -> list[Plot]:
    """Acceptance length and gain against temperature, where a run has several."""
    plots = []
    for view in views:
        for draft in view.drafts:
            for tree in view.trees:
                rows = view.of(draft, tree)
                ticks = {row["temperature"]: f"{row['temperature']:g}" for row in rows}
                if len(ticks) < 2:
                    continue
                lines: Lines = {}
                for row in rows:
                    lines.setdefault(row["method"], []).append((row["temperature"], row))
                plots += _pair(view, view.title(tree_title(tree), draft=draft), lines, ticks, "temperature")
    return plots


def _pair(view: View, name: str, lines: Lines, ticks: Mapping[float, str], axis: str) -> list[Plot]:
    """The same lines twice: the figure itself, and what it gains, in which small differences can be seen."""
    gains = f"gain over {title(view.run.reference)}"
    both = [
        _plot(view, f"acceptance length, {name}", lines, "tau", ticks, axis),
        _plot(view, f"{gains}, {name}", lines, "gain", ticks, axis),
    ]
    return [plot for plot in both if plot is not None]


def _plot(view: View, name: str, lines: Lines, field: str, ticks: Mapping[float, str], axis: str) -> Plot | None:
    known = {
        label: [(x, row[field]) for x, row in sorted(own, key=lambda point: point[0]) if row[field]]
        for label, own in lines.items()
    }
    known = {label: own for label, own in known.items() if own}
    if not known:
        return None
    scale = 100 if field == "gain" else 1
    figure, axes = panel(len(known) + (field == "gain"))
    labels, spoken = [], []
    for label, own in known.items():
        look = view.look(label)
        xs = [x for x, _ in own]
        scaled = [
            {end: None if value is None else scale * value for end, value in interval.items()} for _, interval in own
        ]
        ys = [interval["value"] for interval in scaled]
        if look.main:
            draw_band(axes, xs, scaled, look)
        draw_line(axes, xs, [y for y in ys if y is not None], look)
        labels.append(End(xs[-1], ys[-1] or 0.0, view.abridged(title(label)), look))
        said = signed_percent if field == "gain" else decimal
        spoken.append(f"{title(label)} " + ", ".join(said(interval["value"]) for _, interval in own))
    if field == "gain":
        look = view.look(view.run.reference)
        axes.axhline(0, color=look.colour.light, linewidth=1.2, linestyle=look.dashes)
        labels.append(End(max(ticks), 0.0, view.abridged(title(view.run.reference)), look))
    axes.set_xticks(list(ticks), list(map(view.abridged, ticks.values())))
    axes.set(xlabel=axis, ylabel=None if field == "gain" else "tokens a round")
    if field == "gain":
        axes.yaxis.set_major_formatter(lambda value, place: f"{value:+g} %".replace("-", MINUS) if value else "0")
    axes.margins(x=0.04)
    label_ends(axes, labels)
    along = ", ".join(text.replace("\n", " ") for text in dict(sorted(ticks.items())).values())
    return Plot(name, f"{name}, at {axis} {along}: {'; '.join(spoken)}.", figure)
