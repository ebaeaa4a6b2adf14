"""Rounds whose trees are drafted by a policy of the package, also under node budgets that change with the load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from univer.audit.grower_trees import grower_trees
from univer.audit.models import TableModel
from univer.audit.rounds import Drafted, Rounds
from univer.drafting.growth import Grower
from univer.tree import DraftTree

# Most nodes of the first round, and of the second one by what the first has put out.
BUDGETS = (3, 1, 2, 4)


def grower_round(model: TableModel, grower: Grower, depth: int) -> Rounds:
    """One round with every tree that a grower can draft.

    Args:
        model: the model.
        grower: of some policy.
        depth: levels of the trees.
    """
    return Rounds(model, depth, [Drafted.of(grower_trees(grower, model, depth))])


def budgeted_rounds(model: TableModel, grower: Grower, depth: int, budgets: Sequence[int] = BUDGETS) -> Rounds:
    """Two rounds of one text under different node budgets, with every tree that a grower can draft.

    The budget of the second round depends on the text, as it does in an engine where the text decides which other
    requests are still running.

    Args:
        model: the model.
        grower: of some policy; it learns of no verdict.
        depth: levels of the trees.
        budgets: most nodes of the first round, then those among which the second one's is picked.
    """

    def second() -> Iterator[tuple[float, DraftTree, list[int]]]:
        for start in np.nonzero(model.prefix_chances(depth + 1))[0].tolist():
            if start:
                yield from grower_trees(grower, model, depth, start, budgets[1:][start % len(budgets[1:])])

    first = Drafted.of(grower_trees(grower, model, depth, nodes=budgets[0]))
    return Rounds(model, depth, [first], [Drafted.of(second())])
