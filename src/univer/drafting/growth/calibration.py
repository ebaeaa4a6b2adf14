"""How far a policy's estimates of acceptance have been right so far, from one request's own verdicts."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence

import numpy as np

from univer.drafting.growth.estimate import Floats
from univer.tree import DraftTree

# Estimates are corrected by ranges: what is off for near certain tokens need not be off for doubtful ones.
EDGES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)


class Calibration:
    r"""Factors for estimates of acceptance, learned from counts.

    Every child of a kept node has been put to the test, so for each kind of slot and range of estimates

        factor = (n + accepted) / (n + sum of the estimates)

    over all such children so far, `n` being the weight of what was believed before. A request without verdicts has
    factor 1 everywhere.

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
        """Estimates in [0, 1], corrected.

        Args:
            kind: `"fixed"` or `"sampled"`, which are counted apart.
            estimates: probabilities that a child is accepted if its parent is, any shape.
        """
        if self._weight == 0:
            return estimates
        believed, accepted = self._counts[kind] + self._weight
        factors = (accepted / believed)[np.searchsorted(EDGES, estimates, side="right")]
        return np.asarray(np.minimum(1.0, estimates * factors))

    def count(self, tree: DraftTree, path: Sequence[int], estimates: Sequence[float]) -> None:
        """Learn from a verdict.

        Args:
            tree: the tree.
            path: its kept nodes, from the root's child down.
            estimates: what was estimated for every node, before correction `[N]`.
        """
        children, slots, kept = tree.children, tree.slots, set(path)
        for node in (child for parent in (0, *path) for child in children[parent]):
            believed, accepted = self._counts[slots[node]]
            believed[bisect(EDGES, estimates[node])] += estimates[node]
            accepted[bisect(EDGES, estimates[node])] += node in kept
