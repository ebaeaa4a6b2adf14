"""Guesses of the suffix automaton: order, confidence, paths, vocabulary."""

from typing import Any

import pytest
import torch

from univer.drafting.automaton_source import AutomatonSession, AutomatonSource
from univer.drafting.base import DraftRequest
from univer.drafting.guesses import Guess, GuessSource, confidence, merge_guesses
from univer.engine import Sampling


def session(vocabulary: int = 100, **settings: Any) -> AutomatonSession:
    source = AutomatonSource(**settings)
    assert isinstance(source, GuessSource)
    return source.start(
        DraftRequest(
            vocabulary, torch.device("cpu"), Sampling().distributions, torch.Generator(), True, max_length=1000
        )
    )


def test_the_longest_end_of_the_text_counts() -> None:
    assert session().guesses([2, 3, 40, 9, 3, 50, 2, 3], []) == [Guess(40, confidence(1, 1, 2))]


def test_by_frequency_then_by_recency() -> None:
    guesses = session().guesses([5, 1, 5, 2, 5, 1, 5, 3, 5], [])
    assert [guess.token for guess in guesses] == [1, 3, 2]
    assert [guess.confidence for guess in guesses] == [confidence(count, 4, 1) for count in (2, 1, 1)]


def test_a_path_is_followed_whatever_its_tokens() -> None:
    text = [1, 2, 3, 4, 9, 7, 8, 1, 2]
    found = session()
    assert found.guesses(text, [3]) == [Guess(4, confidence(1, 1, 3))]
    # A token that breaks the match, but was seen elsewhere; and one that was never seen.
    assert found.guesses(text, [7]) == [Guess(8, confidence(1, 1, 1))]
    assert found.guesses(text, [7, 8, 1]) == [Guess(2, confidence(1, 1, 3))]
    assert found.guesses(text, [66]) == []


def test_the_text_grows_between_rounds() -> None:
    found = session()
    assert found.guesses([5, 6, 7], []) == []
    assert [guess.token for guess in found.guesses([5, 6, 7, 5], [])] == [6]
    assert [guess.token for guess in found.guesses([5, 6, 7, 5, 6, 9, 6], [])] == [9, 7]
    # Asked again, as for a second tree below the same text.
    assert [guess.token for guess in found.guesses([5, 6, 7, 5, 6, 9, 6], [])] == [9, 7]


def test_a_repetition_in_progress_is_continued_beyond_the_end() -> None:
    found, path = session(), []
    for expected in (8, 7, 8, 7, 8):
        assert [guess.token for guess in found.guesses([7, 8, 7, 8, 7], path)] == [expected]
        path.append(expected)


def test_settings() -> None:
    text = [5, 1, 5, 2, 5, 3, 5]
    assert len(session(most=2).guesses(text, [])) == 2
    assert session(shortest=2).guesses(text, []) == []
    assert [guess.token for guess in session(vocabulary=3).guesses(text, [])] == [2, 1]
    with pytest.raises(ValueError, match="at least 1, got 0 and 8"):
        AutomatonSource(shortest=0)


def test_confidences_of_one_match_add_up_to_less_than_one() -> None:
    assert sum(confidence(count, 9, 50) for count in (5, 3, 1)) < 1
    assert confidence(1, 1, 1) < confidence(1, 1, 2) < confidence(2, 2, 9)


def test_merging_keeps_the_larger_confidence_and_the_first_of_equals() -> None:
    merged = merge_guesses([[Guess(1, 0.5), Guess(2, 0.2)], [Guess(3, 0.5), Guess(2, 0.7)]])
    assert merged == [Guess(2, 0.7), Guess(1, 0.5), Guess(3, 0.5)]
