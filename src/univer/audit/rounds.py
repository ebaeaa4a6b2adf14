"""The law of what one and two rounds put out, by exact enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from univer.audit.cases import Case
from univer.audit.enumeration import Drafted, drafted_trees
from univer.audit.flaws import SUM_ERROR32, SUM_ERROR64, law_flaw
from univer.audit.models import Floats, Ints, TableModel
from univer.tree import Forest

Outcome = Callable[[Forest, Tensor], Tensor]
# Given the probability that a round begins after each prefix: that of each output as a prefix number, the expected
# accepted length, and the first flaw.
Round = Callable[[Floats], tuple[Floats, float, str]]


@dataclass(frozen=True)
class Measured:
    """What enumeration found about one rule on one case.

    Attributes:
        error: largest error of the probability of any whole output of two rounds.
        distance: total variation between the two laws.
        accepted: expected accepted length of the first round.
        flaw: what makes some outcome law no law at all, see `flaws.law_flaw`; empty if nothing does.
    """

    error: float
    distance: float
    accepted: float
    flaw: str = ""


def measure_rounds(
    model: TableModel, length: int, target: Floats, first: Round, second: Round, starts: Ints
) -> Measured:
    """Law of what two rounds put out, continued by the target, against the target's.

    Args:
        model: the model.
        length: tokens of two full rounds.
        target: the target's law over strings of this length.
        first: the first round.
        second: the second round.
        starts: prefixes after which the second round is known.
    """
    start = np.zeros(model.first(length + 1))
    start[0] = 1.0
    once, accepted, flaw = first(start)
    twice, _, later = second(once)
    # An output that the target cannot have is an error as it is, and needs no second round.
    begun = np.zeros(len(once), dtype=bool)
    begun[starts] = True
    law = model.extended(twice + np.where(begun, 0.0, once), length)
    gap = np.abs(law - target)
    return Measured(float(gap.max()), float(gap.sum() / 2), accepted, flaw or later)


class Enumeration:
    """A case with all trees of both rounds, shared by the rules that are measured on it.

    Args:
        case: the case.
        dtype: of the laws.
    """

    def __init__(self, case: Case, dtype: torch.dtype = torch.float64) -> None:
        self.case = case
        self.model = case.model(dtype)

    @cached_property
    def first(self) -> list[Drafted]:
        """Trees of the first round."""
        return drafted_trees(self.case, self.model, np.zeros(1, dtype=np.int64))

    @cached_property
    def second(self) -> list[Drafted]:
        """Trees of the second round, drawn anew from every prefix that the target can have put out in the first."""
        lengths = range(1, self.case.depth + 2)
        possible = np.concatenate([self.model.output_law(length) for length in lengths]) > 0
        return drafted_trees(self.case, self.model, 1 + np.nonzero(possible)[0])

    @cached_property
    def target(self) -> Floats:
        """The target's law over strings of the full length."""
        return self.model.output_law(self.case.length)

    @property
    def trees(self) -> int:
        """Number of drafted trees of the first round."""
        return sum(len(drafted.chances) for drafted in self.first)

    def measure(self, outcome: Outcome) -> Measured:
        """Run two rounds of a rule and compare with the target.

        Both laws are taken over strings as long as two full rounds; shorter outputs are continued by the target.

        Args:
            outcome: gives the outcome law `[M, V]` of a forest, as `univer.outcome_law` does.
        """
        first, second = (partial(self._put_out, outcome, trees) for trees in (self.first, self.second))
        starts = np.concatenate([drafted.starts for drafted in self.second])
        return measure_rounds(self.model, self.case.length, self.target, first, second, starts)

    def _put_out(self, outcome: Outcome, trees: list[Drafted], start: Floats) -> tuple[Floats, float, str]:
        """Probability of each output as a prefix number, the expected accepted length, and the first flaw."""
        mass, accepted, flaw = np.zeros(len(start)), 0.0, ""
        sum_error = SUM_ERROR64 if self.model.target.dtype == torch.float64 else SUM_ERROR32
        tokens = np.arange(1, self.model.vocabulary + 1)
        for drafted in trees:
            law = outcome(drafted.forest, drafted.target_laws(self.model)).double().numpy()
            flaw = flaw or law_flaw(law, drafted.forest.topology.roots, sum_error)
            # Infinity times zero would warn; NaN goes through in silence to the error.
            law = np.where(np.isfinite(law), law, np.nan).reshape(*drafted.prefixes.shape, -1)
            weighted = law * (drafted.chances * start[drafted.starts])[:, None, None]
            outputs: Ints = drafted.prefixes[:, :, None] * self.model.vocabulary + tokens
            mass += np.bincount(outputs.reshape(-1), weighted.reshape(-1), len(mass))
            accepted += float((weighted.sum((0, 2)) * drafted.depths).sum())
        return mass, accepted, flaw
