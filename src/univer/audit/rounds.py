"""The distribution of what one round, or two consecutive ones, put out: exact, by enumeration of all drafted trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from univer.audit.checks import SUM_ERROR32, SUM_ERROR64, invalid_distribution
from univer.audit.models import Floats, Ints, TableModel
from univer.topology import SLOT_NAMES
from univer.tree import DraftTree, Forest

# The outcome distribution `[M, V]` of a forest, given its target distributions `[M, V]`; see `univer.outcome_law`.
Outcome = Callable[[Forest, Tensor], Tensor]


@dataclass(frozen=True)
class Drafted:
    """Drafted trees, one after the other in a forest.

    Attributes:
        forest: `B` trees with `M` nodes in all.
        prefixes: prefix number of every node, `[M]`.
        chances: probability of each tree given the text before it, `[B]`.
    """

    forest: Forest
    prefixes: Ints
    chances: Floats

    @staticmethod
    def of(trees: Iterable[tuple[float, DraftTree, list[int]]]) -> Drafted:
        """Put single trees together: the probability of each, the tree, and the prefix number of each of its nodes."""
        chances, forests, prefixes = zip(*trees, strict=True)
        return Drafted(Forest.union(forests), np.concatenate(prefixes), np.array(chances))

    @cached_property
    def starts(self) -> Ints:
        """Prefix number of each root, `[B]`."""
        return self.prefixes[self.forest.topology.roots]

    def target_laws(self, model: TableModel) -> Tensor:
        """`P` at every node, `[M, V]`."""
        return model.target[torch.from_numpy(self.prefixes)]

    def tree(self, number: int, model: TableModel) -> tuple[DraftTree, Tensor, Ints]:
        """One of the trees, checked, its target distributions `[N, V]` and the prefix numbers of its nodes `[N]`."""
        nodes = nodes_of(self.forest, number)
        return tree_of(self.forest, nodes), self.target_laws(model)[nodes], self.prefixes[nodes]


def nodes_of(forest: Forest, number: int) -> slice:
    """The nodes of one tree of a forest."""
    start, end = np.append(forest.topology.roots, len(forest))[number : number + 2].tolist()
    return slice(start, end)


def tree_of(forest: Forest, nodes: slice) -> DraftTree:
    """One tree of a forest whose draft distributions are a tensor, checked."""
    assert isinstance(forest.draft_laws, Tensor)
    parents, slots = forest.topology.parents[nodes], forest.topology.slots[nodes]
    excluded = {
        node - nodes.start: tokens for node, tokens in forest.excluded.items() if nodes.start <= node < nodes.stop
    }
    return DraftTree(
        forest.tokens[nodes],
        np.where(parents < 0, -1, parents - nodes.start).tolist(),
        [SLOT_NAMES[slot] for slot in slots.tolist()],
        forest.draft_laws[nodes],
        forest.law,
        excluded,
    )


@dataclass(frozen=True)
class Measured:
    """What enumeration found about one method.

    Attributes:
        error: largest error of the probability of any whole output.
        distance: total variation between the distribution of outputs and the target's.
        accepted: expected accepted length of the first round.
        fault: what makes some outcome distribution invalid, see `checks.invalid_distribution`; empty if nothing does.
    """

    error: float
    distance: float
    accepted: float
    fault: str = ""


class Rounds:
    """All trees that can be drafted in one round of a text, or in two consecutive ones.

    Args:
        model: the model.
        depth: depth that no node exceeds.
        first: trees of the first round, drafted at the empty prefix.
        second: trees of the second round, at every text that the target can have put out in the first; None if only
            one round is measured.
    """

    def __init__(
        self, model: TableModel, depth: int, first: Sequence[Drafted], second: Sequence[Drafted] | None = None
    ) -> None:
        self.model, self.first, self.second = model, first, second
        self.length = (depth + 1) * (1 if second is None else 2)
        self.target = model.output_distribution(self.length)

    @property
    def parts(self) -> list[Drafted]:
        """The trees of all rounds."""
        return [*self.first, *(self.second or ())]

    @property
    def first_trees(self) -> int:
        """Number of drafted trees of the first round."""
        return sum(len(drafted.chances) for drafted in self.first)

    def measure(self, outcome: Outcome) -> Measured:
        """Compare what the rounds put out under a method, continued by the target to full length, with the target.

        Args:
            outcome: gives the outcome distribution `[M, V]` of a forest, as `univer.outcome_law` does.
        """
        start = np.zeros(self.model.first(self.length + 1))
        start[0] = 1.0
        mass, accepted, fault = self._put_out(outcome, self.first, start)
        if self.second is not None:
            later, _, late_fault = self._put_out(outcome, self.second, mass)
            # An output that the target cannot have is an error already, and no second round starts after it.
            mass[np.concatenate([drafted.starts for drafted in self.second])] = 0.0
            mass, fault = later + mass, fault or late_fault
        gap = np.abs(self.model.extended(mass, self.length) - self.target)
        return Measured(float(gap.max()), float(gap.sum() / 2), accepted, fault)

    def _put_out(self, outcome: Outcome, parts: Sequence[Drafted], start: Floats) -> tuple[Floats, float, str]:
        """Probability of each output by prefix number, the expected accepted length, and the first fault."""
        mass, accepted, fault = np.zeros(len(start)), 0.0, ""
        sum_error = SUM_ERROR64 if self.model.target.dtype == torch.float64 else SUM_ERROR32
        tokens = np.arange(1, self.model.vocabulary + 1)
        for drafted in parts:
            rows = outcome(drafted.forest, drafted.target_laws(self.model)).double().numpy()
            topology = drafted.forest.topology
            fault = fault or invalid_distribution(rows, topology.roots, sum_error)
            # Infinity times zero would warn; NaN reaches the error without a warning.
            chances = (drafted.chances * start[drafted.starts])[topology.trees]
            weighted = np.where(np.isfinite(rows), rows, np.nan) * chances[:, None]
            outputs = drafted.prefixes[:, None] * self.model.vocabulary + tokens
            mass += np.bincount(outputs.reshape(-1), weighted.reshape(-1), len(mass))
            accepted += float((weighted.sum(1) * topology.depths).sum())
        return mass, accepted, fault
