"""Prompt look-up: which tokens it proposes, and in which order."""

import pytest
import torch

from univer.drafting.base import Draft, DraftRequest
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.guess_draft import GuessDraft
from univer.drafting.guesses import Guess, confidence
from univer.drafting.lookup import LookupSource
from univer.drafting.shapes import parse_shape
from univer.engine import Sampling


def propose(text, tree="chain-4", vocabulary=100, **lengths):
    return session(vocabulary, **lengths).propose(text, StaticGrowth(parse_shape(tree, "fixed")))


def session(vocabulary=100, **lengths):
    draft = GuessDraft([LookupSource(**lengths)])
    assert isinstance(draft, Draft)
    return draft.start(
        DraftRequest(vocabulary, torch.device("cpu"), Sampling().distributions, torch.Generator(), True, 1000)
    )


def test_what_followed_the_last_tokens_is_proposed():
    tree = propose([5, 6, 7, 8, 9, 1, 5, 6])
    assert tree.tokens.tolist() == [6, 7, 8, 9, 1]
    assert tree.parents == [-1, 0, 1, 2, 3]
    assert tree.slots == ["root"] + ["fixed"] * 4


def test_fault_34_no_match_is_an_empty_tree():
    assert len(propose([1, 2, 3, 4])) == 1
    assert len(propose([7])) == 1
    assert len(propose([5, 6, 7, 5], shortest=2)) == 1


def test_the_longest_match_counts():
    assert propose([2, 3, 40, 9, 3, 50, 2, 3], "chain-1").tokens.tolist() == [3, 40]
    assert propose([2, 3, 40, 9, 3, 50, 2, 3], "chain-1", longest=1).tokens.tolist() == [3, 50]


def test_children_stand_by_frequency_then_by_recency():
    text = [5, 1, 5, 2, 5, 1, 5, 3, 5]
    tree = propose(text, "3x1", longest=1)
    assert tree.tokens.tolist() == [5, 1, 3, 2]
    assert propose(text, "2x1", longest=1).tokens.tolist() == [5, 1, 3]


def test_branches_follow_their_own_occurrences():
    tree = propose([5, 1, 10, 5, 2, 20, 5], "2x2", longest=1)
    tokens = tree.tokens.tolist()
    assert [[tokens[child] for child in row] for row in tree.children[:3]] == [[2, 1], [20], [10]]


def test_a_repetition_in_progress_is_continued_beyond_the_end():
    assert propose([7, 8, 7, 8, 7], "chain-5").tokens.tolist() == [7, 8, 7, 8, 7, 8]
    assert propose([1, 1, 1], "chain-2").tokens.tolist() == [1, 1, 1]


def test_fault_24_ids_that_the_target_lacks_are_not_proposed():
    assert propose([5, 60, 9, 5], vocabulary=50).tokens.tolist() == [5]


def test_the_index_grows_with_the_text():
    lookup, text = session(), [5, 6, 7]
    shape = parse_shape("chain-2", "fixed")
    assert len(lookup.propose(text, StaticGrowth(shape))) == 1
    lookup.settle([])
    assert lookup.propose([*text, 5], StaticGrowth(shape)).tokens.tolist() == [5, 6, 7]
    lookup.settle([1])
    assert lookup.propose([*text, 5, 6, 9, 6], StaticGrowth(shape)).tokens.tolist() == [6, 9, 6]


@pytest.mark.parametrize("lengths", [{"longest": 0}, {"shortest": 0}, {"longest": 2, "shortest": 3}])
def test_lengths_out_of_order_are_refused(lengths):
    with pytest.raises(ValueError, match="1 <= shortest <= longest"):
        LookupSource(**lengths)


def test_below_a_token_that_no_occurrence_agrees_with_the_end_of_the_path_is_looked_up():
    found = LookupSource().start(DraftRequest(100, None, Sampling().distributions, torch.Generator(), True, 1000))
    text = [1, 2, 3, 4, 9, 7, 8, 1, 2]
    assert [guess.token for guess in found.guesses(text, [3])] == [4]
    assert [guess.token for guess in found.guesses(text, [7])] == [8]
    assert found.guesses(text, [66]) == []
    assert [guess.token for guess in found.guesses(text, [66, 8])] == [1]


def test_confidence_is_the_share_of_the_occurrences_shrunk_by_what_matched():
    found = LookupSource(longest=2).start(
        DraftRequest(100, None, Sampling().distributions, torch.Generator(), True, 1000)
    )
    text = [1, 2, 5, 1, 2, 6, 1, 2, 5, 1, 2]
    assert [(guess.token, guess.confidence) for guess in found.guesses(text, [])] == [
        (5, confidence(2, 3, 2)),
        (6, confidence(1, 3, 2)),
    ]
    assert found.guesses(text, [6]) == [Guess(1, confidence(1, 1, 3))]
