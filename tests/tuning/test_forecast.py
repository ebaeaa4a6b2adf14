"""Speeds from tokens per round and seconds per round."""

import random

import pytest

from univer.tuning.costs import Costs
from univer.tuning.curve import Curve
from univer.tuning.forecast import Forecast, rounds_of

FLAT = Curve((1,), (0.0,))
COSTS = Costs(
    FLAT, FLAT, 0.0, FLAT, FLAT, 0.0, plain=1.0, prompt=Curve((10, 20), (2.0, 4.0)), draft_prompt=Curve((1,), (0.5,))
)


def test_all_tokens_over_all_time() -> None:
    forecast = Forecast((10, 20), (2.0, 4.0), (1.0, 1.5))
    seconds = 2.5 + rounds_of(33, 2.0) * 1.0 + 4.5 + rounds_of(33, 4.0) * 1.5
    assert forecast.speed(COSTS, 33) == pytest.approx(66 / seconds)


def test_long_texts_come_near_the_speed_of_decoding() -> None:
    forecast = Forecast((10, 20), (2.0, 4.0), (1.0, 1.5))
    assert forecast.speed(COSTS, 10**6) == pytest.approx(forecast.decoding_speed, rel=1e-3)
    assert forecast.decoding_speed == pytest.approx(2 / (1 / 2 + 1.5 / 4))
    assert forecast.speed(COSTS, 10**6, [15]) == pytest.approx(forecast.decoding_speed, rel=1e-3)


def test_number_of_rounds_of_texts_that_are_cut_at_their_length() -> None:
    lots = random.Random(0)
    counts = []
    for _ in range(4000):
        length, rounds = 1, 0
        while length < 40:
            length += lots.choice((1, 2, 3, 4, 5))
            rounds += 1
        counts.append(rounds)
    assert rounds_of(40, 3.0) == pytest.approx(sum(counts) / len(counts), rel=0.03)


def test_a_draft_that_is_not_asked_reads_no_prompt() -> None:
    forecast = Forecast((10,), (1.0,), (1.0,), drafting=False)
    assert forecast.speed(COSTS, 5) == pytest.approx(5 / (2.0 + 4.0))


def test_one_token_needs_no_round() -> None:
    assert rounds_of(1, 3.0) == 0
