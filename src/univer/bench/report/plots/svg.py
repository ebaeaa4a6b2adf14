"""A drawing as part of a page: its colours become variables, its ids its own."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from univer.bench.report.output import SOFTWARE
from univer.bench.report.palette import ALL, SURFACE
from univer.bench.report.plots.canvas import STRIP, Plot

SVG = "{http://www.w3.org/2000/svg}"
POINTS = 72
LINK = "{http://www.w3.org/1999/xlink}href"
ElementTree.register_namespace("", SVG[1:-1])
ElementTree.register_namespace("xlink", LINK[1:-5])


def lay_out(plot: Plot) -> None:
    """Give the parts of a plot their places, once for both forms, which takes longer than to draw it."""
    height = plot.figure.get_size_inches()[1]
    ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - STRIP / height)).execute(plot.figure)


def inline(plot: Plot, name: str) -> str:
    """A plot as an `svg` element.

    Args:
        plot: the plot, laid out.
        name: unique in the page; it goes before every id.
    """
    drawn = StringIO()
    _save(plot.figure, drawn, "svg", "none")
    root = ElementTree.fromstring(drawn.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            # The style sheet would hold for the whole page, and nobody reads the metadata.
            if child.tag == f"{SVG}style" or child.tag == f"{SVG}metadata":
                parent.remove(child)
    for element in root.iter():
        for attribute, value in element.attrib.items():
            element.set(attribute, _own(attribute, value, name))
    for size in ("width", "height"):
        del root.attrib[size]
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    root.set("viewBox", f"{left:g} {top + POINTS * STRIP:g} {width:g} {height - POINTS * STRIP:g}")
    root.set("role", "img")
    root.set("aria-label", plot.alt)
    return ElementTree.tostring(root, encoding="unicode")


def save_png(plot: Plot, title: str, path: Path) -> None:
    """Write a plot that is laid out to a file.

    Args:
        plot: the plot.
        title: what is written above it.
        path: the file.
    """
    height = plot.figure.get_size_inches()[1]
    plot.figure.text(0.015, 1 - STRIP / 2 / height, title, fontweight="bold", va="center")
    _save(plot.figure, path, "png", SURFACE.light)


def _own(attribute: str, value: str, name: str) -> str:
    if attribute == "id":
        return f"{name}-{value}"
    if attribute == LINK:
        return value.replace("#", f"#{name}-", 1)
    value = re.sub(r"url\(#", f"url(#{name}-", value)
    if attribute == "style":
        for colour in ALL:
            value = value.replace(colour.light, f"var(--{colour.name})")
    return value


def _save(figure: Figure, to: StringIO | Path, form: str, surface: str) -> None:
    metadata = {"Date": None} if form == "svg" else {"Software": SOFTWARE}
    figure.savefig(to, format=form, facecolor=surface, dpi=160, metadata=metadata)
