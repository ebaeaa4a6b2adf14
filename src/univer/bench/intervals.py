"""Confidence intervals by the paired bootstrap over prompts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import bootstrap

RESAMPLES = 9_999
LEVEL = 0.95
# With fewer prompts that all of them err to one side is more likely than an interval of this level may be wrong: of `n`
# signs all agree with probability 2 / 2^n.
FEWEST = 6


@dataclass(frozen=True)
class Interval:
    """A figure with its confidence interval.

    Attributes:
        value: the figure.
        low: lower end; None with fewer than `FEWEST` prompts, which say too little about the spread.
        high: upper end; likewise.
        prompts: number of prompts that the figure is over.
    """

    value: float
    low: float | None
    high: float | None
    prompts: int


def mean_interval(values: ArrayLike, seed: int = 0) -> Interval:
    """The mean of one figure per prompt.

    Args:
        values: `[prompts]`.
        seed: of the resampling.

    Returns:
        Mean and percentile interval at 95 %; no interval where there are fewer than `FEWEST` prompts.

    Example:
        >>> mean_interval([1.0] * 6)
        Interval(value=1.0, low=1.0, high=1.0, prompts=6)
    """
    return _interval((np.asarray(values, dtype=float),), lambda sample, axis: sample.mean(axis), seed)


def gain_interval(values: ArrayLike, reference: ArrayLike, seed: int = 0) -> Interval:
    """Relative gain of the mean of one method over that of another on the same prompts.

    Both are resampled together, so that what prompts have in common cancels.

    Args:
        values: `[prompts]`.
        reference: `[prompts]`, the same prompts in the same order.
        seed: of the resampling.

    Returns:
        `mean(values) / mean(reference) - 1` with its percentile interval at 95 %.

    Example:
        >>> gain_interval([2.2, 4.4], [2.0, 4.0]).value
        0.1...
    """

    def gain(sample: NDArray[np.float64], other: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        ratio: NDArray[np.float64] = sample.mean(axis) / other.mean(axis) - 1
        return ratio

    return _interval((np.asarray(values, dtype=float), np.asarray(reference, dtype=float)), gain, seed)


def ratio_interval(values: ArrayLike, reference: ArrayLike, seed: int = 0) -> Interval:
    """Ratio of the means of two figures on the same prompts.

    Args:
        values: `[prompts]`.
        reference: `[prompts]`, the same prompts in the same order.
        seed: of the resampling.

    Returns:
        `mean(values) / mean(reference)` with its percentile interval at 95 %, see `gain_interval`.

    Example:
        >>> ratio_interval([2.0, 4.0], [1.0, 2.0]).value
        2.0
    """
    gain = gain_interval(values, reference, seed)
    low, high = (None if end is None else 1 + end for end in (gain.low, gain.high))
    return Interval(1 + gain.value, low, high, gain.prompts)


def gain_change(
    values: ArrayLike, reference: ArrayLike, other_values: ArrayLike, other_reference: ArrayLike, seed: int = 0
) -> Interval:
    """By how much a gain is larger in one setting than in another, on the same prompts.

    All four are resampled together. Two gains whose intervals overlap may still differ: what is hard for both settings
    cancels here.

    Args:
        values: `[prompts]` of one method.
        reference: `[prompts]` of the method that it is compared with, in the same setting.
        other_values: `[prompts]`, as `values`, in the other setting.
        other_reference: `[prompts]`, as `reference`, in the other setting.
        seed: of the resampling.

    Returns:
        The first gain less the second, see `gain_interval`, with its percentile interval at 95 %.

    Example:
        >>> change = gain_change([2.4] * 6, [2.0] * 6, [1.1] * 6, [1.0] * 6)
        >>> round(change.value, 3), round(change.low, 3), round(change.high, 3)
        (0.1, 0.1, 0.1)
    """

    def change(*samples: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        one, of, two, other_of = (sample.mean(axis) for sample in samples)
        found: NDArray[np.float64] = one / of - two / other_of
        return found

    samples = [np.asarray(sample, dtype=float) for sample in (values, reference, other_values, other_reference)]
    return _interval(tuple(samples), change, seed)


def intervals_note(prompts: int) -> str:
    """What intervals there are in a table over so many prompts, in a few words.

    Example:
        >>> intervals_note(4)
        'fewer than 6 prompts, so without intervals'
    """
    if prompts < FEWEST:
        return f"fewer than {FEWEST} prompts, so without intervals"
    return "95% intervals by the paired bootstrap over prompts"


def _interval(samples: tuple[NDArray[np.float64], ...], statistic: object, seed: int) -> Interval:
    value = float(statistic(*samples, axis=0))  # type: ignore[operator]
    if len(samples[0]) < FEWEST:
        return Interval(value, None, None, len(samples[0]))
    found = bootstrap(
        samples,
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(value, float(found.low), float(found.high), len(samples[0]))
