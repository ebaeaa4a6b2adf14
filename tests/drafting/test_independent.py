"""A second language model as draft: passes, cache and vocabulary."""

import pytest
import torch

from engine.fakes import TableModel
from engine.families import near_copy, path_to, tiny
from univer.drafting.base import Draft, DraftRequest
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.independent import UNKNOWN, IndependentDraft
from univer.drafting.proposals import complete
from univer.drafting.shapes import parse_shape
from univer.engine import Sampling
from univer.runtime.cache import entries

COMMITTED = [3, 14, 15, 9, 26, 5]


def growth(tree, law):
    return StaticGrowth(parse_shape(tree, law))


def start(model, vocabulary=61, seed=0, sampling=None, limit=90, repeated=False):
    draft = IndependentDraft(model)
    assert isinstance(draft, Draft)
    generator = torch.Generator().manual_seed(seed)
    laws = (sampling or Sampling()).distributions
    return draft.start(DraftRequest(vocabulary, torch.device("cpu"), laws, generator, True, limit, repeated=repeated))


@pytest.mark.parametrize(("tree", "passes"), [("2x3", 3), ("chain-5", 5), ("eagle", 5), ("4x1", 1)])
def test_one_pass_for_each_level_that_has_children(tree, passes):
    session = start(tiny("llama"))
    with torch.inference_mode():
        tree = complete(session.propose(COMMITTED, growth(tree, "greedy")))
    assert session.passes == passes
    assert session.runner.length == len(COMMITTED)


def test_fixed_children_are_the_likeliest_at_their_path():
    model = near_copy("gpt2")
    with torch.inference_mode():
        tree = complete(start(model).propose(COMMITTED, growth("3x2", "fixed")))
        tokens = tree.tokens.tolist()
        for node, children in enumerate(tree.children):
            if children:
                path = COMMITTED[:-1] + path_to(node, tree.parents, tokens)
                best = model(input_ids=torch.tensor([path])).logits[0, -1].topk(3).indices
                assert [tokens[child] for child in children] == best.tolist()


@pytest.mark.parametrize("path_length", [0, 1, 2, 3])
@pytest.mark.parametrize("family", ["llama", "mistral", "gpt2"])
def test_the_accepted_path_is_kept_and_the_rest_read_again(family, path_length):
    session = start(tiny(family))
    shape = parse_shape("2x3", "greedy")
    with torch.inference_mode():
        tree = complete(session.propose(COMMITTED, StaticGrowth(shape)))
        path, node = [], 0
        while len(path) < path_length:
            node = tree.children[node][-1]
            path.append(node)
        session.settle(path)
        # A leaf of the tree was never read by the draft.
        assert session.runner.length == len(COMMITTED) + min(path_length, 2)
        text = [*COMMITTED, *tree.tokens[path].tolist(), 33]
        again = complete(session.propose(text, StaticGrowth(shape)))
        fresh = start(tiny(family))
        complete(fresh.propose(text, StaticGrowth(shape)))
        ours, expected = (entries(one.runner.batch.cache, 0, len(text)) for one in (session, fresh))
        torch.testing.assert_close(ours, expected)
        root = tiny(family)(input_ids=torch.tensor([text])).logits[0, -1]
    torch.testing.assert_close(again.draft_laws[0], root.softmax(-1), atol=1e-5, rtol=0)


def test_fault_24_a_larger_draft_vocabulary_is_cut_and_renormalised():
    law = torch.tensor([0.1, 0.2, 0.1, 0.1, 0.3, 0.2])
    session = start(TableModel(law.expand(6, 6)), vocabulary=4)
    tree = complete(session.propose([1], growth("4x1", "swor")))
    torch.testing.assert_close(tree.draft_laws[0], law[:4] / 0.5)
    assert sorted(tree.tokens[1:].tolist()) == [0, 1, 2, 3]


def test_fault_24_a_smaller_draft_vocabulary_is_filled_with_zeros():
    law = torch.tensor([0.25, 0.75])
    session = start(TableModel(law.expand(2, 2)), vocabulary=5)
    tree = complete(session.propose([1], growth("5x1", "swor")))
    torch.testing.assert_close(tree.draft_laws[0], torch.tensor([0.25, 0.75, 0, 0, 0]))
    assert sorted(tree.tokens[1:].tolist()) == [0, 1]


def test_fault_24_tokens_that_the_draft_cannot_read_have_a_stand_in():
    model = TableModel(torch.full((4, 4), 0.25))
    complete(start(model, vocabulary=9).propose([2, 8, 3, 7], growth("chain-1", "chain")))
    assert model.reads[0][0] == [2, UNKNOWN, 3, UNKNOWN]


def test_fault_03_children_come_from_the_filtered_law_only():
    session = start(tiny("llama"), sampling=Sampling(top_k=2))
    with torch.inference_mode():
        tree = complete(session.propose(COMMITTED, growth("4x1", "swor")))
    assert len(tree) == 3
    assert int((tree.draft_laws[0] > 0).sum()) == 2


def test_trees_of_one_seed_are_equal():
    shape = parse_shape("2x3", "swor")
    with torch.inference_mode():
        trees = [
            complete(start(tiny("llama"), seed=seed).propose(COMMITTED, StaticGrowth(shape))).tokens.tolist()
            for seed in (1, 1, 2)
        ]
    assert trees[0] == trees[1] != trees[2]


def test_a_session_says_how_far_its_model_reads():
    assert start(tiny("llama"), limit=97).max_length == 96


def test_trees_below_one_text_share_what_was_read():
    sessions = [start(tiny("llama"), repeated=repeated) for repeated in (False, True)]
    read = []
    for session in sessions:
        with torch.inference_mode():
            for text in (COMMITTED, [*COMMITTED, 8, 7]):
                for tree, law in (("2x3", "fixed"), ("2x3", "fixed"), ("2x4", "fixed"), ("2x3", "greedy")):
                    session.request.generator.manual_seed(1)
                    read.append(complete(session.propose(text, growth(tree, law))))
                    session.settle([])
    half = len(read) // 2
    for own, shared in zip(read[:half], read[half:], strict=True):
        assert own.tokens.tolist() == shared.tokens.tolist()
        assert own.parents == shared.parents
        torch.testing.assert_close(own.draft_laws, shared.draft_laws)
    # One for the text, and one for each level of a tree but the root and the leaves.
    assert sessions[0].passes == 2 * (1 + 2 + 2 + 3 + 2)
    # The second tree is the first, the third has one more level to read.
    assert sessions[1].passes <= 2 * (1 + 2 + 0 + 1 + 2)


def test_what_was_kept_of_one_of_several_trees_is_read_again():
    session = start(tiny("llama"), repeated=True)
    with torch.inference_mode():
        tree = complete(session.propose(COMMITTED, growth("2x3", "fixed")))
        child = tree.children[0][0]
        session.settle([child])
        text = [*COMMITTED, int(tree.tokens[child]), 8]
        complete(session.propose(text, growth("2x3", "fixed")))
    assert session.runner.length == len(text)
