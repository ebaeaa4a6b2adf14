"""A panel to draw on: one figure with one pair of axes, and the parts that all plots share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from univer.bench.report.palette import GRID, INK, MUTED, SURFACE
from univer.bench.report.series import Series

WIDTH = 5.6
# Inches of a line of labels, and of what stands above and below the axes.
LINE, EDGES = 0.235, 0.95
# Inches above all that for a title, which files have and the page writes itself.
STRIP = 0.36
# Names come from records and are no mathematics; text stays text, in the fonts of the page.
SETTINGS: Any = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "univer",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK.light,
    "axes.edgecolor": MUTED.light,
    "axes.labelcolor": MUTED.light,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.unicode_minus": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": GRID.light,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED.light,
    "ytick.color": MUTED.light,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}


@dataclass(frozen=True)
class Plot:
    """A finished panel.

    Attributes:
        title: what tells it from its neighbours.
        alt: what it shows, in words.
        figure: the drawing.
    """

    title: str
    alt: str
    figure: Figure


@dataclass(frozen=True)
class End:
    """Where a line ends, and what it is called.

    Attributes:
        x: place of its last point.
        y: likewise.
        text: the label.
        look: of the line.
    """

    x: float
    y: float
    text: str
    look: Series


def panel(lines: int, grid: str = "y", shortest: float = 3.3) -> tuple[Figure, Axes]:
    """Empty axes.

    Args:
        lines: how many lines of labels they have to hold one above another.
        grid: the axis whose grid is shown.
        shortest: height in inches at least.
    """
    figure = Figure(figsize=(WIDTH, STRIP + max(shortest, EDGES + LINE * lines)))
    axes = figure.subplots()
    axes.spines[["top", "right", "left"]].set_visible(False)
    if grid == "x":
        axes.spines["bottom"].set_visible(False)
    axes.grid(axis=grid)  # type: ignore[arg-type]
    return figure, axes


def draw_line(axes: Axes, xs: Sequence[float], ys: Sequence[float], look: Series) -> None:
    """A line with its marks."""
    axes.plot(
        xs,
        ys,
        color=look.colour.light,
        linestyle=look.dashes,
        linewidth=2.8 if look.main else 1.4,
        zorder=4 if look.main else 3,
        **marks(look),
    )


def marks(look: Series) -> dict[str, Any]:
    """The settings of a method's marks."""
    return {
        "marker": look.marker,
        "markersize": (8.0 if look.main else 5.5) * (0.86 if look.ordered else 1.0),
        "markerfacecolor": look.colour.light if look.lifted else SURFACE.light,
        "markeredgecolor": SURFACE.light if look.main and look.lifted else look.colour.light,
        "markeredgewidth": 1.2,
    }


def draw_band(axes: Axes, xs: Sequence[float], intervals: Sequence[dict[str, Any]], look: Series) -> None:
    """The intervals of a line's points as a band, if they have any."""
    known = [(x, own) for x, own in zip(xs, intervals, strict=True) if own["low"] is not None]
    if known:
        axes.fill_between(
            [x for x, _ in known],
            [own["low"] for _, own in known],
            [own["high"] for _, own in known],
            color=look.colour.light,
            alpha=0.14,
            linewidth=0,
            zorder=2,
        )


def label_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Write the name of every line beside its end, moved apart where they would lie on each other.

    Args:
        axes: with its final limits.
        ends: one for each line.
    """
    low, high = axes.get_ylim()
    height = axes.figure.get_size_inches()[1] - EDGES - STRIP  # type: ignore[union-attr]
    placed = spread([end.y for end in ends], (high - low) * LINE * 0.86 / height)
    start, stop = axes.get_xlim()
    for end, y in zip(ends, placed, strict=True):
        beside, bold = stop + 0.04 * (stop - start), "bold" if end.look.main else "normal"
        colour = end.look.colour.light
        axes.plot([end.x, beside], [end.y, y], color=colour, linewidth=0.6, clip_on=False, zorder=1)
        axes.text(
            beside + 0.015 * (stop - start), y, end.text, va="center", color=colour, fontweight=bold, fontsize=9.5
        )
    axes.set(xlim=(start, stop), ylim=(low, high))


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Places near the wanted ones that lie a gap apart: neighbours that are too close share out around their mean.

    Args:
        wanted: places.
        gap: least distance.

    Example:
        >>> spread([0.0, 1.0, 1.0, 5.0], 1.0)
        [-0.33..., 0.66..., 1.66..., 5.0]
    """
    clusters: list[list[int]] = []
    for place in sorted(range(len(wanted)), key=wanted.__getitem__):
        clusters.append([place])
        while len(clusters) > 1:
            below, above = (_centred([wanted[own] for own in cluster], gap) for cluster in clusters[-2:])
            if above[0] - below[-1] >= gap:
                break
            clusters[-2:] = [clusters[-2] + clusters[-1]]
    found = [0.0] * len(wanted)
    for cluster in clusters:
        for place, at in zip(cluster, _centred([wanted[own] for own in cluster], gap), strict=True):
            found[place] = at
    return found


def _centred(wanted: Sequence[float], gap: float) -> list[float]:
    middle = sum(wanted) / len(wanted)
    return [middle + gap * (place - (len(wanted) - 1) / 2) for place in range(len(wanted))]
