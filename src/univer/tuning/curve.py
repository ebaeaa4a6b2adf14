"""A cost as a function of a size: medians of measurements, made non-decreasing, with straight lines between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression


@dataclass(frozen=True)
class Curve:
    """A cost that never falls with the size.

    It is linear between the sizes measured and constant below the smallest. Above the largest it continues with the
    mean slope of the upper half of the sizes, so that a single noisy pair does not decide the slope.

    Attributes:
        sizes: sizes measured, rising.
        seconds: cost at each size, non-decreasing.
    """

    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    def __call__(self, size: float) -> float:
        """Return the cost at a size, in seconds.

        Example:
            >>> Curve((1, 3), (1.0, 2.0))(2)
            1.5
        """
        beyond = size - self.sizes[-1]
        if beyond > 0 and len(self.sizes) > 1:
            middle = (len(self.sizes) - 1) // 2
            slope = (self.seconds[-1] - self.seconds[middle]) / (self.sizes[-1] - self.sizes[middle])
            return self.seconds[-1] + slope * beyond
        return float(np.interp(size, self.sizes, self.seconds))


def rising_curve(measured: Mapping[int, Sequence[float]]) -> Curve:
    """Fit a curve to the medians of measurements by isotonic regression.

    The costs are the non-decreasing sequence nearest to the medians in least squares, weighted by the number of
    measurements of each size.

    Args:
        measured: seconds by size, at least one value per size.

    Raises:
        ValueError: nothing was measured.

    Example:
        >>> rising_curve({1: [1.0], 2: [3.0], 4: [2.0, 2.0, 9.0]}).seconds
        (1.0, 2.25, 2.25)
    """
    if not measured:
        raise ValueError("there is no measurement to fit a curve to")
    sizes = sorted(measured)
    medians = [float(np.median(measured[size])) for size in sizes]
    fitted = isotonic_regression(medians, weights=[len(measured[size]) for size in sizes])
    return Curve(tuple(sizes), tuple(fitted.x.tolist()))
