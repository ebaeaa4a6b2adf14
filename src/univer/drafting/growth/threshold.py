"""The score from which a slot is worth its place, held or adapted to a mean number of nodes."""

from __future__ import annotations

import math

# How far the logarithm of the threshold moves for a tree of twice the mean size, and at most from where it began.
STEP, FURTHEST = 0.3, 4.0


class Threshold:
    r"""A threshold that follows a mean budget.

    With `n_t` nodes in tree `t` and the mean budget `m` the threshold is

        threshold_0 exp(STEP sum_t (n_t / m - 1))

    so that trees that were too large in sum make the next ones smaller. Only the request's own counts enter.

    Args:
        value: the threshold to begin with.
        mean: mean budget; None to hold the threshold.

    Example:
        >>> threshold = Threshold(0.01, mean=40)
        >>> threshold.count(60)
        >>> threshold.value > 0.01
        True
    """

    def __init__(self, value: float, mean: float | None) -> None:
        self._first = value
        self._mean = mean
        self._surplus = 0.0

    @property
    def value(self) -> float:
        """The threshold for the next tree."""
        return self._first * math.exp(self._surplus)

    def count(self, nodes: int) -> None:
        """Note the size of a tree, the root left out."""
        if self._mean is not None:
            moved = self._surplus + STEP * (nodes / self._mean - 1)
            self._surplus = max(-FURTHEST, min(FURTHEST, moved))
