"""The suffix automaton against a search through the text."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from univer.drafting.automaton import START, UPDATED, Followers, SuffixAutomaton


def searched(text: list[int], read: list[int]) -> Followers:
    """Length of the longest end of `read` that is followed by something in the text, and what followed."""
    for length in range(len(read), 0, -1):
        suffix = read[-length:]
        places = [end for end in range(length, len(text)) if text[end - length : end] == suffix]
        if places:
            counts = Counter(text[place] for place in places)
            latest = {text[place]: place for place in places}
            ranked = sorted(counts.items(), key=lambda item: (-item[1], -latest[item[0]]))
            return Followers(length, len(places), ranked)
    return Followers(0, 0, [])


tokens = st.integers(0, 3)


@settings(max_examples=150, deadline=None)
@given(st.lists(tokens, max_size=40), st.lists(st.integers(0, 4), max_size=6))
def test_followers_of_the_text_and_of_what_is_read_beyond_it(text: list[int], beyond: list[int]) -> None:
    automaton = SuffixAutomaton(text)
    match, read = automaton.suffix, list(text)
    assert automaton.followers(match) == searched(text, read)
    matched, total, ranked = searched(text, read)
    assert automaton.followers(match, most=2) == Followers(matched, total, ranked[:2])
    for token in beyond:
        match, read = automaton.read(match, token), [*read, token]
        assert automaton.followers(match) == searched(text, read)


@settings(max_examples=50, deadline=None)
@given(st.lists(tokens, max_size=30), st.lists(tokens, max_size=8))
def test_another_text_is_matched_from_its_start(text: list[int], other: list[int]) -> None:
    automaton, match = SuffixAutomaton(text), START
    for end, token in enumerate(other, start=1):
        match = automaton.read(match, token)
        assert automaton.followers(match) == searched(text, other[:end])


def test_growing_in_pieces_changes_nothing() -> None:
    text = [1, 2, 1, 2, 3, 1, 2, 1, 2]
    grown = SuffixAutomaton()
    for token in text:
        grown.extend([token])
    assert grown.suffix == SuffixAutomaton(text).suffix == (grown.suffix[0], 9)
    assert grown.followers(grown.suffix) == Followers(4, 1, [(3, 1)])


@pytest.mark.parametrize("size", [UPDATED, 5 * UPDATED])
def test_one_token_repeated_costs_a_bounded_number_of_updates(size: int) -> None:
    automaton = SuffixAutomaton([7] * size)
    assert automaton.followers(automaton.suffix) == Followers(size - 1, 1, [(7, 1)])
    # The count of the shortest suffix is right as long as no more states than that had to be updated.
    _, _, [(token, count)] = automaton.followers(automaton.read(START, 7))
    assert (token, count) == (7, min(size - 1, UPDATED))
