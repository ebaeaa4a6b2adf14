"""A plot as part of the page and as a PNG file, both from one drawing."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from textwrap import fill

from markupsafe import Markup
from matplotlib import rc_context

from univer.bench.report.drawing import Plot
from univer.bench.report.looks import SURFACE, colours, variable
from univer.bench.report.output import SOFTWARE

# Characters of a title in a line of a PNG file.
TITLE = 66


def inline(plot: Plot, name: str) -> Markup:
    """A plot as an `svg` element that takes its colours from the variables of the page.

    Args:
        plot: a plot with a drawing.
        name: unique in the page; ids depend on it.
    """
    assert plot.canvas is not None
    drawn = StringIO()
    with rc_context({"svg.hashsalt": name}):
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        plot.canvas.savefig(drawn, format="svg", facecolor="none", metadata=metadata)
    variables = {colour.light: f"var({variable(colour)})" for colour in colours()}

    def adapted(tag: re.Match[str]) -> str:
        # Nothing refers to the ids of groups, and they are the same in every drawing.
        text = re.sub(r'^<g id="[^"]*"', "<g", tag[0])
        return re.sub("#[0-9a-f]{6}", lambda colour: variables.get(colour[0], colour[0]), text)

    # Only tags are changed: a name that is written in the drawing may hold anything.
    svg = re.sub(r"<\w[^>]*>", adapted, drawn.getvalue())
    _, opening, content = re.split(r"(<svg [^>]*>)", svg, maxsplit=1)
    box = re.findall(r'viewBox="[^"]*"', opening)[0]
    return Markup(f'<svg {box} role="img" aria-label="{{}}">').format(plot.alt) + Markup(content)


def save_png(plot: Plot, title: str, path: Path) -> None:
    """Write a plot to a file, under a title.

    Args:
        plot: a plot with a drawing, to which the title is added.
        title: the title.
        path: the file.
    """
    assert plot.canvas is not None
    heading = fill(title, TITLE)
    plot.canvas.suptitle(heading, x=0.02, ha="left", fontsize=10, fontweight="bold")
    plot.canvas.set_figheight(plot.canvas.get_figheight() + 0.2 + 0.18 * heading.count("\n"))
    plot.canvas.savefig(path, format="png", facecolor=SURFACE.light, dpi=160, metadata={"Software": SOFTWARE})
