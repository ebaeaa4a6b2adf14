"""The look of each method, the same in every plot, table and report, and the other colours of a page."""

from __future__ import annotations

from dataclasses import dataclass

from univer.bench.report.names import base
from univer.bench.summary import PLAIN
from univer.couplings import Stepwise
from univer.methods import OTHER, Colour, methods

SURFACE = Colour("#fffffe", "#15181d")
INK = Colour("#1b1f24", "#e9ebee")
MUTED = Colour("#5a626d", "#a2abb6")
GRID = Colour("#e3e6ea", "#2c323a")

# Phases of a round, apart from the methods' colours: blue-grey, neighbours far apart in lightness.
PHASES = (
    Colour("#2b3a4d", "#dbe4ef"),
    Colour("#7d93ad", "#5d738d"),
    Colour("#c9d3de", "#b4c3d4"),
    Colour("#54687f", "#3d4d61"),
    Colour("#a5b5c7", "#8ba1b9"),
)
PAGE = {"surface": SURFACE, "ink": INK, "muted": MUTED, "grid": GRID}


@dataclass(frozen=True)
class Look:
    """The look of one method.

    Attributes:
        colour: that of its one-step rule.
        lifted: filled marks and solid lines; hollow and dashed otherwise.
        ordered: has a sibling order of its own: diamonds in place of circles.
        main: the method that the report is about: heavier, and in front.
    """

    colour: Colour
    lifted: bool
    ordered: bool
    main: bool

    @property
    def weight(self) -> str:
        """Weight of its text."""
        return "bold" if self.main else "normal"


def look(label: str, main: bool = False) -> Look:
    """The look of a row.

    Args:
        label: name of the row, such as `univer (gain)`.
        main: whether the report is about it.

    Example:
        >>> look("univer").colour is look("greedy").colour, look("univer").lifted, look("greedy").lifted
        (True, True, False)
    """
    name = base(label)
    method = methods().get(name)
    if method is None:
        return Look(INK if name == PLAIN else OTHER, True, name != label, main)
    return Look(method.colour, not isinstance(method.coupling, Stepwise), name != label, main)


def colours() -> list[Colour]:
    """All colours of a page."""
    return list(dict.fromkeys([*PAGE.values(), *PHASES, OTHER, *(method.colour for method in methods().values())]))


def variable(colour: Colour) -> str:
    """Name of a colour's variable in the style sheet of a page, made of its light form."""
    return f"--c{colour.light[1:]}"
