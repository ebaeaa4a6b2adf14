"""What makes a tensor no outcome law at all, before it is compared with anything."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from univer.audit.models import Floats, Ints

# Rounding of the entries, and of the sum over one tree, by what the law was computed in.
MOST_NEGATIVE = 1e-12
SUM_ERROR64, SUM_ERROR32 = 1e-6, 1e-5
# Largest error of the law of whole outputs that is rounding.
FLOAT64_ERROR, FLOAT32_ERROR = 1e-12, 1e-5


def law_flaw(laws: Floats, roots: Ints, sum_error: float = SUM_ERROR64) -> str:
    """What is wrong with the outcome laws of some trees in themselves.

    Args:
        laws: outcome laws of all nodes, tree after tree, `[M, V]`.
        roots: place of the first node of each tree `[B]`.
        sum_error: how far the sum over a tree may be from 1.

    Returns:
        A sentence, or an empty string.

    Example:
        >>> law_flaw(np.array([[0.5, 0.5], [0.7, 0.7]]), np.array([0, 1]))
        'an outcome law sums to 1.4, not 1'
        >>> law_flaw(np.array([[0.5, float("nan")]]), np.array([0]))
        'an outcome law has entries that are not finite'
    """
    if not np.isfinite(laws).all():
        return "an outcome law has entries that are not finite"
    if not laws.min() >= -MOST_NEGATIVE:
        return f"an outcome law has negative entries, down to {laws.min():.1e}"
    sums = np.add.reduceat(laws.sum(1), roots)
    farthest = sums[np.abs(sums - 1).argmax()]
    if not abs(farthest - 1) <= sum_error:
        return f"an outcome law sums to {farthest:.7g}, not 1"
    return ""


def worst(values: Iterable[float]) -> float:
    """The largest value; a NaN among them is the worst, where `max` would drop it.

    Example:
        >>> worst([1.0, float("nan"), 2.0])
        nan
    """
    return float(np.max(list(values)))
