"""A store of texts that requests share: what it keeps, and that nothing is shared without it."""

import random

import pytest
import torch

from univer.drafting.automaton import Followers
from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import DraftRequest
from univer.drafting.guesses import Guess, confidence
from univer.drafting.shared_text import LONGEST_MATCH, SharedText
from univer.engine import Sampling

REQUEST = DraftRequest(100, torch.device("cpu"), Sampling().distributions, torch.Generator(), True, max_length=1000)


def test_nothing_is_matched_across_two_texts() -> None:
    store = SharedText()
    store.add([1, 2, 3])
    store.add([4, 5, 6])
    assert store.followers([2, 3]) == Followers(2, 1, [])
    assert store.followers([3, 4]) == Followers(1, 1, [(5, 1)])


def test_a_request_guesses_from_what_others_wrote() -> None:
    store = SharedText()
    source = AutomatonSource(shared=store)
    first = source.start(REQUEST)
    assert first.guesses([1, 2, 3, 4], []) == []
    assert len(store) == 0
    first.finish([1, 2, 3, 4])
    assert source.start(REQUEST).guesses([9, 2, 3], []) == [Guess(4, confidence(1, 1, 2))]
    assert AutomatonSource().start(REQUEST).guesses([9, 2, 3], []) == []


def test_own_text_and_shared_texts_are_one_list() -> None:
    store = SharedText()
    store.add([7, 8, 2, 3, 4])
    found = AutomatonSource(shared=store).start(REQUEST).guesses([3, 5, 8, 2, 3], [])
    assert found == [Guess(4, confidence(1, 1, 3)), Guess(5, confidence(1, 1, 1))]


@pytest.mark.parametrize("limit", [4, 50, 200])
def test_the_size_is_bounded_and_the_newest_texts_stay(limit: int) -> None:
    store, rng = SharedText(limit), random.Random(0)
    for number in range(60):
        text = [rng.randrange(5) for _ in range(rng.randrange(40))] + [100 + number, 200 + number]
        store.add(text)
        assert len(store) <= limit
        if limit > 4:
            assert store.followers([100 + number]) == Followers(1, 1, [(200 + number, 1)])
    assert store.followers([100]) == Followers(0, 0, [])


def test_long_texts_are_matched_by_their_end() -> None:
    store = SharedText()
    store.add(list(range(2 * LONGEST_MATCH)))
    found = store.followers(list(range(2 * LONGEST_MATCH - 1)))
    assert found == Followers(LONGEST_MATCH, 1, [(2 * LONGEST_MATCH - 1, 1)])


def test_a_store_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="a limit of at least 4 tokens, not 3"):
        SharedText(3)
