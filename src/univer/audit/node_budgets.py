"""Trees under a node budget that changes from round to round, as it does with the load of an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from univer.audit.growth import Grown
from univer.audit.models import TableModel
from univer.audit.product_growth import product_trees
from univer.audit.rounds import Measured, Outcome, measure_rounds
from univer.drafting.growth import Grower
from univer.tree import DraftTree

# Most nodes of the first round, and of the second one by what the first has put out.
BUDGETS = (3, 1, 2, 4)


class BudgetedRounds:
    """All trees of two rounds of one text that are drafted by one grower under other budgets.

    The budget of the second round depends on the text, as where it decides which other texts are still at work.

    Args:
        model: the model.
        grower: of some policy; it is told of no verdict.
        depth: levels of the trees.
        budgets: most nodes of the first round, then those among which the second one's is picked.
    """

    def __init__(self, model: TableModel, grower: Grower, depth: int, budgets: Sequence[int] = BUDGETS) -> None:
        self.model, self.length = model, 2 * (depth + 1)
        self.target = model.output_law(self.length)
        self._later = budgets[1:]
        self.first = Grown(model, product_trees(grower, model, depth, nodes=budgets[0]), depth)
        self.second = Grown(model, self._second(grower, depth), depth)
        self.forests = [self.first.forest, self.second.forest]

    def measure(self, outcome: Outcome) -> Measured:
        """Law of what two rounds put out, continued by the target, against the target's.

        Args:
            outcome: gives the outcome law of a forest.
        """
        first, second = (partial(drafted.put_out, outcome) for drafted in (self.first, self.second))
        return measure_rounds(self.model, self.length, self.target, first, second, self.second.starts)

    def _second(self, grower: Grower, depth: int) -> Iterator[tuple[float, DraftTree, list[int]]]:
        """The trees below every text that the target can have put out in the first round."""
        possible = np.concatenate([self.model.output_law(length) for length in range(1, depth + 2)]) > 0
        for start in (1 + np.nonzero(possible)[0]).tolist():
            yield from product_trees(grower, self.model, depth, start, self._later[start % len(self._later)])
