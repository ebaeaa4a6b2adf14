"""Curves never fall, go through the medians where those rise, and go on beyond what was measured."""

import itertools

import numpy as np
import pytest

from univer.tuning.curve import rising_curve


def test_rising_whatever_was_measured() -> None:
    generator = np.random.default_rng(0)
    measured = {size: list(generator.exponential(size=3)) for size in (1, 2, 3, 5, 9, 17)}
    curve = rising_curve(measured)
    values = [curve(size) for size in np.linspace(0, 40, 200)]
    assert all(after >= before for before, after in itertools.pairwise(values))
    total = sum(np.median(own) for own in measured.values())
    assert sum(curve.seconds) == pytest.approx(total)


def test_medians_that_rise_are_kept_and_joined_by_lines() -> None:
    curve = rising_curve({4: [3.0, 3.0, 90.0], 2: [1.0], 8: [5.0]})
    assert [curve(size) for size in (2, 3, 4, 6, 8)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert curve(1) == 1.0
    assert curve(16) == pytest.approx(9.0)


def test_one_size_is_a_constant() -> None:
    assert rising_curve({3: [2.0]})(50) == 2.0


def test_nothing_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="no measurement"):
        rising_curve({})
