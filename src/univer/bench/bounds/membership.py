"""Enclosure of the rule that draws from the target and follows the token if it is a child."""

from __future__ import annotations

from univer.bench.bounds.enclosure import Outcomes
from univer.bench.bounds.ranges import Range
from univer.rules import Membership
from univer.rules.base import Siblings


class MembershipEnclosure:
    """Nothing but sums of `P` matters, so the rule's own answer at the two ends of the scale is all there is."""

    def couple(self, siblings: Siblings, scale: Range) -> Outcomes:
        """Intervals of the rule's answer."""
        low, high = (Membership().couple(siblings.scaled(end)) for end in (scale.low, scale.high))
        return Outcomes(Range(low.children, high.children), Range(low.residual, high.residual), scale.complement())
