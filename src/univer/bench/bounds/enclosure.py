"""What a one-step rule may answer where one token stands for several: the interface of the enclosures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from univer.bench.bounds.ranges import Range
from univer.rules.base import Siblings

# The token that stands for all that were merged. No child has it.
BUCKET = 0


@dataclass(frozen=True)
class Outcomes:
    """Probabilities of the outcomes at `n` nodes given the drawn children: `rules.base.Coupling` as intervals.

    Attributes:
        children: of every child in the order drawn, `[n, m]`.
        residual: of the tokens emitted without following a child, `[n]`.
        refused: of `REJ`, `[n]`.
    """

    children: Range
    residual: Range
    refused: Range

    @property
    def rest(self) -> Range:
        """Of everything but the children."""
        return self.residual + self.refused


class Enclosure(Protocol):
    """The answers that a rule may give, over all ways to divide the mass of the bucket among the tokens in it."""

    def couple(self, siblings: Siblings, scale: Range) -> Outcomes:
        """Intervals of the rule's answer.

        Args:
            siblings: the nodes; their own scale is not used.
            scale: prefix scales `[n]`.
        """
        ...


class ForesightEnclosure(Enclosure, Protocol):
    """The enclosure of a rule that the sibling order `gain` may ask."""

    def acceptance(self, siblings: Siblings, scale: Range) -> Range:
        """Intervals of the rule's `expected_acceptance` `[n]`."""
        ...
