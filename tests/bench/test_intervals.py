import numpy as np
import pytest

from univer.bench.intervals import gain_change, gain_interval, mean_interval


def test_pairing_removes_what_prompts_share() -> None:
    """Prompts differ a lot, the gain is 5 % on each: the paired interval is narrow, that of the mean is wide."""
    rng = np.random.default_rng(0)
    reference = rng.uniform(1, 6, 20)
    values = reference * (1.05 + rng.normal(0, 0.002, 20))
    gain, mean = gain_interval(values, reference), mean_interval(values)
    assert gain.value == pytest.approx(values.mean() / reference.mean() - 1)
    assert gain.low is not None
    assert gain.high is not None
    assert mean.low is not None
    assert mean.high is not None
    assert 0.045 < gain.low < gain.value < gain.high < 0.055
    assert mean.high - mean.low > 0.5


def test_a_change_of_gains_is_told_where_prompts_share_it() -> None:
    """The gain is larger by 4 points on every prompt, and what both gains share varies far more."""
    rng = np.random.default_rng(0)
    first, last = rng.uniform(1, 6, (2, 20))
    shared = rng.normal(0, 0.05, 20)
    change = gain_change(last * (1.06 + shared), last, first * (1.02 + shared), first)
    assert change.low is not None
    assert change.high is not None
    assert 0 < change.low < change.value < change.high
    ratio = (last * (1.06 + shared)).mean() / last.mean() - (first * (1.02 + shared)).mean() / first.mean()
    assert change.value == pytest.approx(ratio)
    swapped = gain_change(first * (1.02 + shared), first, last * (1.06 + shared), last)
    assert swapped.value == pytest.approx(-change.value)


def test_coverage_of_the_interval() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(60):
        interval = mean_interval(rng.normal(3.0, 1.0, 40))
        assert interval.low is not None
        assert interval.high is not None
        hits += interval.low <= 3.0 <= interval.high
    assert 50 <= hits <= 60


def test_one_prompt_has_no_interval() -> None:
    interval = gain_interval([3.0], [2.0])
    assert interval.value == pytest.approx(0.5)
    assert interval.low is interval.high is None
