"""The look of each method, the same in every plot, table and report, and the other colours of a page."""

from __future__ import annotations

from dataclasses import dataclass

from univer.bench.report.names import base


@dataclass(frozen=True)
class Colour:
    """A colour in the light and in the dark version of a page.

    Attributes:
        light: on a light background, `#rrggbb` in lower case.
        dark: on a dark background.
    """

    light: str
    dark: str


SURFACE = Colour("#fffffe", "#15181d")
INK = Colour("#1b1f24", "#e9ebee")
MUTED = Colour("#5a626d", "#a2abb6")
GRID = Colour("#e3e6ea", "#2c323a")

# One hue for each one-step rule, told apart also by readers with a colour vision deficiency, and with the contrast that
# text needs.
RULES = (
    (Colour("#805625", "#ecbb44"), "token", "block"),
    (Colour("#5674b8", "#8ed4fc"), "rrs", "rrs-lifted"),
    (Colour("#0b4f94", "#5f9fe8"), "rrsw", "traversal"),
    (Colour("#00835f", "#3fcf9f"), "spectr", "spectr-lifted"),
    (Colour("#d1410c", "#ff8552"), "greedy", "univer"),
    (Colour("#6e757e", "#9a989d"), "membership", None),
    (Colour("#8a266e", "#ec96cd"), "mixed", "univer-mixed"),
    (Colour("#353841", "#d6dadf"), "optimal", "optimal-lifted"),
)
OTHER = Colour("#7253c3", "#7c7db8")

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
    for colour, stepwise, lifted in RULES:
        if name in (stepwise, lifted):
            return Look(colour, name == lifted, name != label, main)
    return Look(OTHER, True, name != label, main)


def colours() -> list[Colour]:
    """All colours of a page."""
    return list(dict.fromkeys([*PAGE.values(), *PHASES, OTHER, *(colour for colour, _, _ in RULES)]))


def variable(colour: Colour) -> str:
    """Name of a colour's variable in the style sheet of a page, made of its light form."""
    return f"--c{colour.light[1:]}"
