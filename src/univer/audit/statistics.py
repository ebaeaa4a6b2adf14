"""Goodness of fit of counted outcomes to an exact law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from univer.audit.models import Floats

FEWEST = 10.0
FAMILY_LEVEL = 1e-6


def fit_p_value(counts: NDArray[np.int64], law: Floats) -> float:
    """p-value of the likelihood-ratio test (G-test) of counts against a law.

    Outcomes of probability zero must not occur: if one does, the p-value is 0. Outcomes that are expected fewer than
    10 times are pooled.

    Args:
        counts: how often each outcome occurred.
        law: its probability, same shape.

    Example:
        >>> fit_p_value(np.array([500, 500]), np.array([0.5, 0.5]))
        1.0
        >>> fit_p_value(np.array([1, 999]), np.array([0.0, 1.0]))
        0.0
    """
    seen, share = counts.reshape(-1).astype(np.float64), law.reshape(-1) / law.sum()
    if seen[share == 0].any():
        return 0.0
    expected = share * seen.sum()
    rare = expected < FEWEST
    if rare.any():
        seen = np.append(seen[~rare], seen[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    if len(expected) < 2:
        return 1.0
    terms = np.where(seen > 0, seen * np.log(np.where(seen > 0, seen, 1.0) / expected), 0.0)
    return float(chi2.sf(2 * terms.sum(), len(expected) - 1))
