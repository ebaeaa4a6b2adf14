"""A cost as a function of a size: medians of measurements, made rising, with straight lines between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Curve:
    """A cost that never falls with the size.

    Between the sizes measured it is a straight line, below the smallest constant. Beyond the largest it goes on with
    the mean slope of the upper half of the sizes: a single noisy pair does not decide it.

    Attributes:
        sizes: sizes measured, rising.
        seconds: cost at each of them, never falling.
    """

    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    def __call__(self, size: float) -> float:
        """Cost at a size, in seconds.

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

    def to_dict(self) -> dict[str, list[float]]:
        """Plain lists for JSON."""
        return {"sizes": list(self.sizes), "seconds": list(self.seconds)}

    @staticmethod
    def from_dict(table: Any) -> Curve:
        """The curve that `to_dict` wrote."""
        return Curve(tuple(int(size) for size in table["sizes"]), tuple(float(value) for value in table["seconds"]))


def rising_curve(measured: Mapping[int, Sequence[float]]) -> Curve:
    """The curve through the medians of measurements.

    Neighbours that fall are pooled to their mean, weighed by the number of measurements (the nearest rising sequence in
    least squares).

    Args:
        measured: seconds by size, at least one of each.

    Raises:
        ValueError: nothing was measured.

    Example:
        >>> rising_curve({1: [1.0], 2: [3.0], 4: [2.0, 2.0, 9.0]}).seconds
        (1.0, 2.25, 2.25)
    """
    if not measured:
        raise ValueError("there is no measurement to draw a curve through")
    pools: list[tuple[float, int, int]] = []
    for size in sorted(measured):
        value, weight, count = float(np.median(measured[size])), len(measured[size]), 1
        while pools and pools[-1][0] > value:
            other, mass, members = pools.pop()
            value, weight, count = (value * weight + other * mass) / (weight + mass), weight + mass, count + members
        pools.append((value, weight, count))
    seconds = tuple(value for value, _, count in pools for _ in range(count))
    return Curve(tuple(sorted(measured)), seconds)
