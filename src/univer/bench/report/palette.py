"""Colours of a report, each for light and for dark surroundings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Colour:
    """A colour with a name, which is that of its variable in the page's style sheet.

    Attributes:
        name: the variable.
        light: on a light surface, `#rrggbb` in small letters. Plots are drawn with it, and no two colours share it,
            because the page puts the variable in its place.
        dark: on a dark surface.
    """

    name: str
    light: str
    dark: str


SURFACE = Colour("surface", "#fffffe", "#15181d")
INK = Colour("ink", "#1b1f24", "#e9ebee")
MUTED = Colour("muted", "#5a626d", "#a2abb6")
GRID = Colour("grid", "#e3e6ea", "#2c323a")

# One hue for every one-step rule. The hues keep apart for readers with any kind of colour blindness when taken together
# with fill and dashes, which say how levels are coupled; see Wong, Nature Methods 8, 441 (2011), for most of them.
MAXIMAL = Colour("maximal", "#8f6400", "#e0b04a")
REJECTION = Colour("rejection", "#2475ab", "#86cdf7")
WITHOUT_REPLACEMENT = Colour("without-replacement", "#0b4f94", "#5f9fe8")
K_SEQ = Colour("k-seq", "#00835f", "#3fcf9f")
TRANSPORT = Colour("transport", "#d1410c", "#ff8552")
MEMBERSHIP = Colour("membership", "#6b727c", "#99a1ac")
MIXED = Colour("mixed", "#b0438a", "#ea8fc6")
PROGRAMME = Colour("programme", "#33383f", "#d3d8de")
OTHER = Colour("other", "#6a51b3", "#b3a1f0")
SERIES = (MAXIMAL, REJECTION, WITHOUT_REPLACEMENT, K_SEQ, TRANSPORT, MEMBERSHIP, MIXED, PROGRAMME, OTHER)

# Parts of a whole, apart from the methods' colours: grey-blue from dark to light, neighbours far apart in lightness.
PARTS = (
    Colour("part-1", "#2b3a4d", "#dbe4ef"),
    Colour("part-2", "#7d93ad", "#5d738d"),
    Colour("part-3", "#c9d3de", "#b4c3d4"),
    Colour("part-4", "#54687f", "#3d4d61"),
    Colour("part-5", "#a5b5c7", "#8ba1b9"),
)

ALL = (SURFACE, INK, MUTED, GRID, *SERIES, *PARTS)


def variables(dark: bool) -> str:
    """The colours as declarations of a style sheet."""
    return " ".join(f"--{colour.name}: {colour.dark if dark else colour.light};" for colour in ALL)
