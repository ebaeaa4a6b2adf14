"""When a number that the audit finds counts as a fault: tolerances, invalid distributions, goodness of fit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.stats import power_divergence

from univer.audit.models import Floats, Ints

# Rounding of the entries, and of the sum over one tree, by the precision of the distributions.
MOST_NEGATIVE = 1e-12
SUM_ERROR64, SUM_ERROR32 = 1e-6, 1e-5
# Largest error of the probability of a whole output that counts as rounding.
FLOAT64_ERROR, FLOAT32_ERROR = 1e-12, 1e-5
# Outcomes that are expected fewer times are pooled.
FEWEST = 10.0
# Probability that any of the p-values of a correct audit is called a fault.
FAMILY_LEVEL = 1e-6


def invalid_distribution(rows: Floats, roots: Ints, sum_error: float = SUM_ERROR64) -> str:
    """What makes the outcome distributions of some trees invalid, before they are compared with anything.

    Args:
        rows: outcome distributions of all nodes, tree after tree, `[M, V]`.
        roots: place of the first node of each tree, `[B]`.
        sum_error: how far the sum over a tree may be from 1.

    Returns:
        A sentence, or an empty string if they are valid.

    Example:
        >>> invalid_distribution(np.array([[0.5, 0.5], [0.7, 0.7]]), np.array([0, 1]))
        'an outcome distribution sums to 1.4, not 1'
        >>> invalid_distribution(np.array([[0.5, float("nan")]]), np.array([0]))
        'an outcome distribution has entries that are not finite'
    """
    if not np.isfinite(rows).all():
        return "an outcome distribution has entries that are not finite"
    if not rows.min() >= -MOST_NEGATIVE:
        return f"an outcome distribution has negative entries, down to {rows.min():.1e}"
    sums = np.add.reduceat(rows.sum(1), roots)
    farthest = sums[np.abs(sums - 1).argmax()]
    if not abs(farthest - 1) <= sum_error:
        return f"an outcome distribution sums to {farthest:.7g}, not 1"
    return ""


def worst(values: Iterable[float]) -> float:
    """The largest value; NaN if there is one, where `max` would drop it.

    Example:
        >>> worst([1.0, float("nan"), 2.0])
        nan
    """
    return float(np.max(list(values)))


def fit_p_value(counts: Ints, expected: Floats) -> float:
    """p-value of the likelihood-ratio test (G-test) of counts against a distribution.

    Outcomes of probability 0 must not occur: if one does, the p-value is 0. Outcomes that are expected fewer than 10
    times are pooled.

    Args:
        counts: how often each outcome occurred.
        expected: its probability, same shape, up to a factor.

    Returns:
        The p-value, in [0, 1].

    Example:
        >>> fit_p_value(np.array([500, 500]), np.array([0.5, 0.5]))
        1.0
        >>> fit_p_value(np.array([1, 999]), np.array([0.0, 1.0]))
        0.0
    """
    observed, share = counts.reshape(-1), expected.reshape(-1) / expected.sum()
    if observed[share == 0].any():
        return 0.0
    expected = share * observed.sum()
    rare = expected < FEWEST
    pooled = np.stack([np.append(row[~rare], row[rare].sum()) for row in (observed, expected)])
    pooled = pooled[:, pooled[1] > 0]
    return float(power_divergence(*pooled, lambda_="log-likelihood").pvalue) if pooled.shape[1] > 1 else 1.0
