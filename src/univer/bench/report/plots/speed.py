"""Tokens per second, and where the time of a round goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.transforms import blended_transform_factory

from univer.bench.report.forms import decimal
from univer.bench.report.names import title, tree_title
from univer.bench.report.palette import INK, MUTED, PARTS, SURFACE
from univer.bench.report.plots.canvas import LINE, End, Plot, draw_line, label_ends, panel
from univer.bench.report.runs import Row
from univer.bench.report.view import View
from univer.bench.summary import PLAIN


def speed(views: Sequence[View]) -> list[Plot]:
    """Tokens per second against the nodes of a tree, plain decoding as a level."""
    plots = []
    for view in views:
        plain = next((row["rate"] for row in view.rows if row["method"] == PLAIN), None)
        for draft in view.drafts:
            lines: dict[str, list[Row]] = {}
            for row in view.of(draft, temperature=view.chosen["temperature"]):
                if row["rate"] is not None and row["nodes"] is not None:
                    lines.setdefault(row["method"], []).append(row)
            if lines:
                name = view.title(f"temperature {view.chosen['temperature']:g}", draft=draft)
                plots.append(_against_nodes(view, name, lines, plain))
    return plots


def phases(views: Sequence[View]) -> list[Plot]:
    """Milliseconds of a round by phase, a bar for every method and a panel for every tree, all on one scale."""
    found = []
    for view in views:
        plain = [row for row in view.rows if row["method"] == PLAIN]
        found += [(view, name, [row for row in (*plain, *rows) if row["phases"]]) for name, rows in view.panels()]
    found = [(view, name, rows) for view, name, rows in found if rows]
    longest = max((_round_time(row) for _, _, rows in found for row in rows), default=0.0)
    return [_bars(view, name, rows, longest) for view, name, rows in found]


def phase_names(rows: Sequence[Row]) -> list[str]:
    """The phases of a round as they follow each other, the prefill left out, which is none of a round's."""
    return [name for name in dict.fromkeys(name for row in rows for name in row["phases"]) if name != "prefill"]


def _against_nodes(view: View, name: str, lines: dict[str, list[Row]], plain: float | None) -> Plot:
    figure, axes = panel(len(lines) + 1)
    labels, spoken = [], []
    for label, rows in lines.items():
        points = sorted((row["nodes"], row["rate"], tree_title(row["tree"])) for row in rows)
        look = view.look(label)
        draw_line(axes, [nodes for nodes, _, _ in points], [rate for _, rate, _ in points], look)
        labels.append(End(points[-1][0], points[-1][1], view.abridged(title(label)), look))
        spoken.append(f"{title(label)} " + ", ".join(f"{decimal(rate, 1)} on {tree}" for _, rate, tree in points))
    if plain is not None:
        axes.axhline(plain, color=MUTED.light, linewidth=1.2, linestyle=(0, (1.5, 2.0)))
        axes.text(
            0.01,
            plain,
            "plain decoding",
            transform=axes.get_yaxis_transform(),
            va="bottom",
            fontsize=9.5,
            color=MUTED.light,
        )
        spoken.append(f"plain decoding {decimal(plain, 1)}")
    axes.set(xlabel="drafted nodes a round, mean", ylabel="tokens per second")
    axes.margins(x=0.06, y=0.1)
    label_ends(axes, labels)
    return Plot(name, f"Tokens per second against nodes, {name}: {'; '.join(spoken)}.", figure)


def _round_time(row: Row) -> float:
    """Milliseconds of a round."""
    return 1000 * float(sum(row["phases"][name] for name in phase_names([row])))


def _bars(view: View, name: str, rows: Sequence[Row], longest: float) -> Plot:
    phases = phase_names(rows)
    figure, axes = panel(len(rows), grid="x", shortest=1.4 + 1.35 * LINE * len(rows))
    ends = [0.0] * len(rows)
    for number, phase in enumerate(phases):
        widths = [1000 * row["phases"].get(phase, 0.0) for row in rows]
        look: dict[str, Any] = {"color": PARTS[number % len(PARTS)].light, "edgecolor": SURFACE.light, "linewidth": 0.8}
        axes.barh(range(len(rows)), widths, left=ends, height=0.66, label=phase, **look)
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    axes.set_yticks(range(len(rows)), [view.abridged(title(row["method"])) for row in rows])
    for place, (end, text, row) in enumerate(zip(ends, axes.get_yticklabels(), rows, strict=True)):
        weight = "bold" if view.look(row["method"]).main else "normal"
        axes.text(end + 0.012 * longest, place, decimal(end, 1), va="center", fontweight=weight)
        text.set(color=INK.light, fontweight=weight)
    axes.set(xlabel="milliseconds a round", ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.12 * longest))
    across = blended_transform_factory(figure.transFigure, axes.transAxes)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.01),
        bbox_transform=across,
        ncols=len(phases),
        frameon=False,
        fontsize=9.5,
        handlelength=1,
        columnspacing=1.6,
    )
    spoken = [f"{title(row['method'])} {decimal(end, 1)}" for row, end in zip(rows, ends, strict=True)]
    return Plot(name, f"Milliseconds of a round, {name}: {'; '.join(spoken)}.", figure)
