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

# One hue for every one-step rule, far enough from the others for eyes that lack a kind of cone, and with the contrast
# that text needs. Fill and dashes, which say how levels are coupled, tell methods of one rule apart.
MAXIMAL = Colour("maximal", "#805625", "#ecbb44")
REJECTION = Colour("rejection", "#5674b8", "#8ed4fc")
WITHOUT_REPLACEMENT = Colour("without-replacement", "#0b4f94", "#5f9fe8")
K_SEQ = Colour("k-seq", "#00835f", "#3fcf9f")
TRANSPORT = Colour("transport", "#d1410c", "#ff8552")
MEMBERSHIP = Colour("membership", "#6e757e", "#9a989d")
MIXED = Colour("mixed", "#8a266e", "#ec96cd")
PROGRAMME = Colour("programme", "#353841", "#d6dadf")
OTHER = Colour("other", "#7253c3", "#7c7db8")
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
