"""Which slots of a level win."""

import numpy as np
import pytest

from univer.drafting.growth.adaptive import Threshold
from univer.drafting.growth.budget import Budget, Step, best_by_count, concave_steps

STEPS = [Step(0.5, 0, 1, 1), Step(0.2, 0, 3, 2), Step(0.01, 0, 4, 1), Step(0.4, 1, 1, 1), Step(0.1, 1, 2, 1)]


def test_the_best_slots_of_all_nodes_win() -> None:
    for nodes, expected in ((0, [0, 0]), (1, [1, 0]), (2, [1, 1]), (3, [1, 1]), (4, [3, 1]), (5, [3, 2]), (9, [4, 2])):
        assert Budget(nodes, 0.001, 0.0).choose(STEPS, 2) == expected


def test_slots_below_the_threshold_are_not_taken() -> None:
    assert Budget(9, 0.05, 0.0).choose(STEPS, 2) == [3, 2]
    assert Budget(9, 0.6, 0.0).choose(STEPS, 2) == [0, 0]


def test_a_part_of_the_budget_is_kept_for_later_levels() -> None:
    """At a bar of 0.1 the five slots are worth 1.4: expected below them are 1.4 / 0.1 - 5 = 9 nodes."""
    assert Budget(14, 0.001, 1.0).choose(STEPS, 2) == [3, 2]
    assert Budget(13, 0.001, 1.0).choose(STEPS, 2) == [3, 1]
    assert Budget(1, 0.001, 1.0).choose(STEPS, 2) == [1, 0]


def test_steps_are_taken_together_where_one_alone_does_not_pay() -> None:
    steps = concave_steps(3, np.array([0.0, 0.1, 0.5, -np.inf, 0.6]))
    assert [(step.place, step.count, step.added) for step in steps] == [(3, 2, 2), (3, 4, 2)]
    assert [step.gain for step in steps] == pytest.approx([0.25, 0.05])


def test_the_best_split_for_every_count() -> None:
    values = np.array([[0.0, 0.5, 0.7], [0.4, 0.8, 0.85], [0.6, 0.82, -np.inf]])
    worth, sampled = best_by_count(np.stack([values, values[::-1]]), 3)
    assert sampled[0].tolist() == [0, 1, 1, 2]
    assert worth[0].tolist() == [0.0, 0.5, 0.8, 0.85]
    assert worth[1, 0] == 0.6


def test_the_threshold_follows_a_mean_budget() -> None:
    """Trees whose size falls as the threshold rises come to the mean."""
    threshold, sizes = Threshold(0.015, 30.0), []
    for _ in range(60):
        sizes.append(round(1.0 / threshold.value))
        threshold.count(sizes[-1])
    assert sizes[0] == 67
    assert np.mean(sizes[20:]) == pytest.approx(30, rel=0.05)
    held = Threshold(0.015, None)
    held.count(1000)
    assert held.value == 0.015
