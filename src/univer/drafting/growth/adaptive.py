"""What the trees of one request learn from its own verdicts: corrected estimates and an adapted threshold."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from univer.drafting.growth.base import Growth
from univer.topology import Floats
from univer.tree import DraftTree

# Estimates are corrected by range: what is wrong for nearly certain tokens need not be wrong for doubtful ones.
EDGES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
# How far the logarithm of the threshold moves for a tree of twice the mean size, and how far it may move in all.
STEP, FURTHEST = 0.3, 4.0


class Calibration:
    r"""Correction factors for estimates of acceptance, learned from counts.

    A verdict tests every child of every kept node. For each kind of slot and range of estimates, over all such children
    of the request so far,

        factor = (n + accepted) / (n + sum of the estimates)

    where `n` is the weight of the estimates. Before the first verdict every factor is 1.

    Args:
        weight: `n`, in accepted tokens; 0 switches learning off.

    Example:
        >>> Calibration(4.0).corrected("fixed", np.array([0.3, 0.01]))
        array([0.3 , 0.01])
    """

    def __init__(self, weight: float) -> None:
        self._weight = weight
        # By kind of slot and range: sums of the estimates, and accepted tokens.
        self._counts = {kind: np.zeros((2, len(EDGES) + 1)) for kind in ("fixed", "sampled")}

    def corrected(self, kind: str, estimates: Floats) -> Floats:
        """Correct some estimates.

        Args:
            kind: `"fixed"` or `"sampled"`; the two are counted separately.
            estimates: probabilities that a child is accepted if its parent is, any shape.

        Returns:
            Probabilities of the same shape.
        """
        if self._weight == 0:
            return estimates
        expected, accepted = self._counts[kind] + self._weight
        factors = (accepted / expected)[np.searchsorted(EDGES, estimates, side="right")]
        return np.asarray(np.minimum(1.0, estimates * factors))

    def count(self, tree: DraftTree, path: Sequence[int], estimates: Sequence[float]) -> None:
        """Learn from a verdict.

        Args:
            tree: the tree.
            path: its kept nodes, from the root's child down.
            estimates: estimate of every node before correction, `[N]`.
        """
        children, slots, kept = tree.children, tree.slots, set(path)
        for node in (child for parent in (0, *path) for child in children[parent]):
            expected, accepted = self._counts[slots[node]]
            expected[bisect(EDGES, estimates[node])] += estimates[node]
            accepted[bisect(EDGES, estimates[node])] += node in kept


class Threshold:
    r"""The smallest score that is worth a slot; it is constant, or follows a mean tree size.

    With `n_t` nodes in tree `t` and the mean size `m` it is

        threshold_0 exp(STEP sum_t (n_t / m - 1))

    so that trees that were too large in total make the next ones smaller. Only the request's own trees count.

    Args:
        value: the initial threshold.
        mean: mean number of nodes to reach; None for a constant threshold.

    Example:
        >>> threshold = Threshold(0.01, mean=40)
        >>> threshold.count(60)
        >>> threshold.value > 0.01
        True
    """

    def __init__(self, value: float, mean: float | None = None) -> None:
        self._first = value
        self._mean = mean
        self._surplus = 0.0

    @property
    def value(self) -> float:
        """The threshold of the next tree."""
        return self._first * math.exp(self._surplus)

    def count(self, nodes: int) -> None:
        """Take the size of a tree into account.

        Args:
            nodes: its number of nodes, root excluded.
        """
        if self._mean is not None:
            moved = self._surplus + STEP * (nodes / self._mean - 1)
            self._surplus = max(-FURTHEST, min(FURTHEST, moved))


class EstimatedGrowth(Growth, Protocol):
    """A growth that records how likely it thought each node to be accepted.

    Attributes:
        tree: the finished tree; None until then.
        estimates: for each node of the finished tree, its estimated acceptance given its parent's, before correction.
    """

    tree: DraftTree | None
    estimates: list[float]


GrowthT = TypeVar("GrowthT", bound=EstimatedGrowth)


class AdaptiveGrower(Generic[GrowthT]):
    """Grows one request's trees and learns from each verdict.

    Args:
        new_tree: makes the growth of one tree from the largest number of nodes, the number of levels, the threshold,
            and the calibration.
        max_nodes: largest number of nodes of a tree, root excluded.
        max_depth: largest number of levels.
        prior: weight of the estimates against the request's own verdicts; 0 for no learning.
        threshold: the request's threshold.
    """

    def __init__(
        self,
        new_tree: Callable[[int, int, float, Calibration], GrowthT],
        max_nodes: int,
        max_depth: int,
        prior: float,
        threshold: Threshold,
    ) -> None:
        self._new_tree = new_tree
        self._full_size = max_nodes, max_depth
        self._calibration = Calibration(prior)
        self._threshold = threshold
        self._last: GrowthT | None = None
        self._last_size = self._full_size

    def begin(self, depth: int, nodes: int | None = None) -> GrowthT:
        """Start a tree of at most `depth` levels and `nodes` nodes."""
        max_nodes, max_depth = self._full_size
        self._last_size = max_nodes if nodes is None else min(nodes, max_nodes), min(depth, max_depth)
        self._last = self._new_tree(*self._last_size, self._threshold.value, self._calibration)
        return self._last

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Compare the estimates with what was accepted, and the size of an unrestricted tree with the mean size."""
        if self._last is not None and self._last.tree is tree:
            self._calibration.count(tree, path, self._last.estimates)
            if self._last_size == self._full_size:
                self._threshold.count(len(tree) - 1)
