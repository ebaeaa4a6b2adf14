"""The forms of plots: marks with intervals, lines, stacked bars; each one panel, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from univer.bench.report.forms import decimal, signed_percent, tenths
from univer.bench.report.looks import GRID, INK, MUTED, PHASES, SURFACE, Look
from univer.bench.report.names import title
from univer.bench.report.runs import Row
from univer.bench.report.samples import Figure
from univer.bench.report.tables import phase_names, round_time
from univer.bench.report.view import View
from univer.bench.summary import PLAIN

# A plot of fewer points shows nothing that its table does not, and looks surer than it is.
FEWEST_POINTS = 3
# Inches: width of a plot, height of a line of text, and least height of a plot of lines.
WIDTH, LINE, HEIGHT = 5.6, 0.3, 3.3
# Names come from records and are no mathematics; text stays text, in the fonts of the page.
SETTINGS: Any = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK.light,
    "axes.edgecolor": MUTED.light,
    "axes.labelcolor": MUTED.light,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "grid.color": GRID.light,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "xtick.color": MUTED.light,
    "ytick.color": MUTED.light,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}


@dataclass
class Plot:
    """One panel of a report.

    Attributes:
        title: what distinguishes it from the other panels.
        alt: what it shows, in words.
        canvas: the drawing; None for a plot that is left out because it has too few points.
        svg: the drawing as an element of a page, once it is made.
    """

    title: str
    alt: str = ""
    canvas: Canvas | None = None
    svg: str = ""


def marks(
    panels: Sequence[tuple[View, str, Sequence[Row]]], name: str, axis: str, form: Callable[[float], str] = decimal
) -> list[Plot]:
    """A panel for each set of rows with one mark and interval for every method, all on one scale.

    Args:
        panels: a run, the title of the panel, and its rows.
        name: which figure of a row is shown.
        axis: what that is, with its unit.
        form: formats a value.
    """
    kept = [[row for row in rows if _has_interval(row.get(name))] for _, _, rows in panels]
    drawn = [rows for rows in kept if len(rows) >= FEWEST_POINTS]
    values = [row[name][end] for rows in drawn for row in rows for end in ("low", "value", "high")]
    margin = 0.06 * (max(values) - min(values)) or 0.1 if values else 0.0
    plots = []
    for (view, heading, _), rows in zip(panels, kept, strict=True):
        if len(rows) < FEWEST_POINTS:
            plots.append(Plot(heading))
            continue
        canvas, axes = _panel(1.1 + LINE * len(rows), "x")
        for place, row in enumerate(rows):
            figure, look = row[name], view.look(row["method"])
            interval = [[figure["value"] - figure["low"]], [figure["high"] - figure["value"]]]
            width = 3.2 if look.main else 1.8
            axes.errorbar(figure["value"], place, xerr=interval, elinewidth=width, zorder=4, **_style(look))
            if row["method"] in (view.run.reference, PLAIN):
                axes.axvline(figure["value"], color=look.colour.light, linewidth=0.9, linestyle=(0, (1.5, 2.5)))
            side: Any = {"transform": axes.get_yaxis_transform(), "va": "center", "fontweight": look.weight}
            axes.text(1.02, place, form(figure["value"]), **side)
        axes.set(xlim=(min(values) - margin, max(values) + margin), xlabel=axis, ylim=(len(rows) - 0.4, -0.6))
        _name_rows(axes, view, rows)
        plots.append(Plot(heading, _words(axis, heading, [row["method"] for row in rows]), canvas))
    return plots


def lines(
    view: View,
    heading: str,
    points: Sequence[tuple[float, Row, Figure | None]],
    axes_names: tuple[str, str],
    *,
    form: Callable[[float], str] = decimal,
    ticks: Mapping[float, str] | None = None,
    level: tuple[str, float] | None = None,
) -> Plot:
    """A line for every method through its points that have an interval, and the interval of the highlighted method.

    Args:
        view: the run.
        heading: title of the panel.
        points: places on the horizontal axis, the rows they belong to and the figures there.
        axes_names: what the horizontal and the vertical axis show.
        form: formats a value.
        ticks: texts along the horizontal axis by place; numbers by default.
        level: name of a row and a value that is drawn as a horizontal line.
    """
    curves: dict[str, list[tuple[float, Figure]]] = {}
    for place, row, figure in sorted(points, key=lambda point: point[0]):
        if figure is not None and _has_interval(figure):
            curves.setdefault(row["method"], []).append((place, figure))
    if max(map(len, curves.values()), default=0) < FEWEST_POINTS:
        return Plot(heading)
    canvas, axes = _panel(max(HEIGHT, 1 + 0.8 * LINE * (len(curves) + (level is not None))), "y")
    # The legend lists the lines in the order in which they end, whatever characters their names begin with.
    drawn: list[Line2D] = []
    for label, curve in sorted(curves.items(), key=lambda item: -item[1][-1][1]["value"]):
        look = view.look(label)
        xs, values = [x for x, _ in curve], [figure["value"] for _, figure in curve]
        if look.main or len(curves) == 1:
            low, high = ([figure[end] for _, figure in curve] for end in ("low", "high"))
            axes.fill_between(xs, low, high, color=look.colour.light, alpha=0.14, linewidth=0, zorder=2)
        dashes: Any = "solid" if look.lifted else (0, (3.0, 1.8))
        width, order = (2.8, 4) if look.main else (1.4, 3)
        name = view.abridged(title(label))
        drawn += axes.plot(xs, values, linestyle=dashes, linewidth=width, zorder=order, label=name, **_style(look))
    if level is not None:
        colour = view.look(level[0]).colour
        style: Any = {"color": colour.light, "linewidth": 1.2, "linestyle": (0, (1.5, 2.0))}
        drawn.append(axes.axhline(level[1], label=title(level[0]), **style))
    if ticks:
        axes.set_xticks(list(ticks), list(map(view.abridged, ticks.values())))
    if form is signed_percent:
        axes.yaxis.set_major_formatter(lambda value, place: form(value))
    axes.set(xlabel=axes_names[0], ylabel=axes_names[1])
    legend = axes.legend(handles=drawn, loc="center left", bbox_to_anchor=(1, 0.5), handlelength=2.6)
    main = view.abridged(title(view.chosen["method"]))
    for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True):
        text.set(color=line.get_color(), fontweight="bold" if text.get_text() == main else "normal")
    return Plot(heading, _words(f"{axes_names[1]} by {axes_names[0]}", heading, curves), canvas)


def bars(view: View, heading: str, rows: Sequence[Row], longest: float) -> Plot:
    """A stacked bar of milliseconds by phase for every method.

    Args:
        view: the run.
        heading: title of the panel.
        rows: rows with `phases`.
        longest: milliseconds of the longest round in all panels.
    """
    phases = phase_names(rows)
    canvas, axes = _panel(1.4 + LINE * len(rows), "x")
    starts = [0.0] * len(rows)
    for number, phase in enumerate(phases):
        widths = [1000 * row["phases"].get(phase, 0.0) for row in rows]
        colours: Any = {"color": PHASES[number % len(PHASES)].light, "edgecolor": SURFACE.light, "linewidth": 0.8}
        axes.barh(range(len(rows)), widths, left=starts, height=0.66, label=phase, **colours)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    for place, row in enumerate(rows):
        time, weight = round_time(row), view.look(row["method"]).weight
        axes.text(time + 0.012 * longest, place, tenths(time), va="center", fontweight=weight)
    axes.set(xlabel="milliseconds a round", ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.12 * longest))
    _name_rows(axes, view, rows)
    canvas.legend(loc="outside upper left", ncols=len(phases), handlelength=1, columnspacing=1.4)
    return Plot(heading, _words("milliseconds of a round", heading, [row["method"] for row in rows]), canvas)


def _panel(height: float, grid: str) -> tuple[Canvas, Axes]:
    canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
    axes = canvas.subplots()
    axes.grid(axis=grid)  # type: ignore[arg-type]
    axes.spines["bottom"].set_visible(grid == "y")
    return canvas, axes


def _style(look: Look) -> dict[str, Any]:
    """How matplotlib draws the marks of a method."""
    return {
        "color": look.colour.light,
        "marker": "D" if look.ordered else "o",
        "markersize": (8.0 if look.main else 5.5) * (0.86 if look.ordered else 1.0),
        "markerfacecolor": look.colour.light if look.lifted else SURFACE.light,
        "markeredgecolor": SURFACE.light if look.main and look.lifted else look.colour.light,
        "markeredgewidth": 1.2,
    }


def _name_rows(axes: Axes, view: View, rows: Sequence[Row]) -> None:
    axes.set_yticks(range(len(rows)), [view.abridged(title(row["method"])) for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        look = view.look(row["method"])
        label.set(color=look.colour.light, fontweight=look.weight)


def _words(what: str, heading: str, labels: Iterable[str]) -> str:
    return f"{what}, {heading}, of {'; '.join(map(title, labels))}. The tables have the figures."


def _has_interval(figure: Figure | None) -> bool:
    return figure is not None and figure["low"] is not None
