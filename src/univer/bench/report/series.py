"""How a method looks, the same in every plot, table and report."""

from __future__ import annotations

from dataclasses import dataclass

from univer.bench.report import palette
from univer.bench.report.names import base
from univer.bench.report.palette import Colour

# Hue by one-step rule; the lifted twin is filled and drawn through, the stepwise one hollow and dashed.
RULES: tuple[tuple[Colour, str, str | None], ...] = (
    (palette.MAXIMAL, "token", "block"),
    (palette.REJECTION, "rrs", "rrs-lifted"),
    (palette.WITHOUT_REPLACEMENT, "rrsw", "traversal"),
    (palette.K_SEQ, "spectr", "spectr-lifted"),
    (palette.TRANSPORT, "greedy", "univer"),
    (palette.MEMBERSHIP, "membership", None),
    (palette.MIXED, "mixed", "univer-mixed"),
    (palette.PROGRAMME, "optimal", "optimal-lifted"),
)


@dataclass(frozen=True)
class Series:
    """The look of one method.

    Attributes:
        colour: its hue.
        lifted: filled marks and whole lines; hollow and dashed otherwise.
        ordered: with a sibling order of its own: diamonds in place of discs.
        main: the method that the report is about: heavier, and in front.
    """

    colour: Colour
    lifted: bool
    ordered: bool
    main: bool

    @property
    def marker(self) -> str:
        """The mark in the words of matplotlib."""
        return "D" if self.ordered else "o"

    @property
    def dashes(self) -> str | tuple[int, tuple[float, ...]]:
        """The line in the words of matplotlib."""
        if self.ordered and not self.main:
            return (0, (7.0, 1.6))
        return "solid" if self.lifted else (0, (3.0, 1.8))


def series(label: str, main: bool = False) -> Series:
    """The look of a row.

    Args:
        label: the row's name, such as `univer (gain)`.
        main: whether the report is about it.

    Example:
        >>> series("univer").colour is series("greedy").colour, series("univer").lifted, series("greedy").lifted
        (True, True, False)
    """
    name = base(label)
    for colour, stepwise, lifted in RULES:
        if name in (stepwise, lifted):
            return Series(colour, name == lifted, name != label, main)
    return Series(palette.OTHER, True, name != label, main)
