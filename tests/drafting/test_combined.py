"""A model draft with guesses beside it: what the children are, and that the text keeps the target's law."""

from collections.abc import Sequence

import pytest
import torch

from drafting.eagle.pairs import random_draft
from engine.fakes import TableModel
from engine.families import greedy_reference, near_copy, tiny
from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import Draft, DraftRequest
from univer.drafting.combined import CombinedDraft
from univer.drafting.growth.parse import parse_tree
from univer.drafting.growth.static import Static, StaticGrowth
from univer.drafting.guess_draft import GuessDraft
from univer.drafting.guesses import Guess, GuessSession, GuessSource
from univer.drafting.independent import IndependentDraft
from univer.drafting.layers import skip_layers
from univer.drafting.lookup import LookupSource
from univer.drafting.proposals import complete
from univer.drafting.shapes import parse_shape
from univer.drafting.shared_text import SharedText
from univer.engine import Sampling, generate

COMMITTED = [3, 14, 15, 9, 26, 3, 14]
PROMPT = torch.tensor([COMMITTED])
ROW = torch.tensor([0.4, 0.3, 0.0, 0.2, 0.1])


class Told(GuessSource, GuessSession):
    """Guesses the same everywhere."""

    name = "told"

    def __init__(self, *guesses: tuple[int, float]) -> None:
        self.told = [Guess(*guess) for guess in guesses]

    def start(self, request: DraftRequest) -> "Told":
        return self

    def guesses(self, committed: Sequence[int], path: Sequence[int]) -> list[Guess]:
        return self.told


def propose(sources, tree="4x1", law="greedy", seed=0, model=None):
    draft = CombinedDraft(IndependentDraft(model or TableModel(ROW.expand(5, 5)), name="table"), sources)
    assert isinstance(draft, Draft)
    generator = torch.Generator().manual_seed(seed)
    session = draft.start(DraftRequest(5, torch.device("cpu"), Sampling().distributions, generator, True, 100))
    policy = Static(parse_shape(tree, law)) if isinstance(tree, str) else tree
    return complete(session.propose([1], policy.start(law, greedy=False).begin(9)))


def test_guesses_and_the_model_s_own_tokens_are_one_list():
    tree = propose([Told((2, 0.35), (1, 0.1))])
    # Confidence against Q: 0 has Q = 0.4, the guess 2 has Q = 0 and 0.35, and 1 counts once, with its larger Q = 0.3.
    assert tree.tokens[1:4].tolist() == [0, 2, 1]
    assert tree.slots[1:] == ["fixed"] * 3 + ["sampled"]


def test_a_guess_of_several_sources_is_one_child():
    tree = propose([Told((2, 0.35)), Told((2, 0.5), (4, 0.45))])
    assert tree.tokens[1:4].tolist() == [2, 4, 0]


@pytest.mark.parametrize("policy", ["grow:nodes=20", "eagle2:nodes=20", "opt:nodes=20"])
def test_trees_grow_along_confident_guesses(policy):
    tree = propose([Told((2, 0.95))], parse_tree(policy), model=TableModel(torch.full((5, 5), 0.2)))
    guessed, node = 0, 0
    while children := [child for child in tree.children[node] if tree.tokens[child] == 2]:
        guessed, node = guessed + 1, children[0]
        assert tree.slots[node] == "fixed"
    assert guessed >= 5
    without = propose([Told()], parse_tree(policy), model=TableModel(torch.full((5, 5), 0.2)))
    assert without.tokens.tolist() != tree.tokens.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_sampled_children_come_from_the_row_without_all_fixed_ones(seed):
    tree = propose([Told((2, 0.9), (3, 0.8))], tree="4x1", law="mixed", seed=seed)
    assert tree.tokens[1:3].tolist() == [2, 3]
    torch.testing.assert_close(tree.draft_laws[0], ROW)
    expected = torch.tensor([0.5, 0.375, 0.0, 0.0, 0.125])
    torch.testing.assert_close(tree.sampling_distribution(tree.topology.levels[0][0])[0], expected)
    assert set(tree.tokens[3:].tolist()) <= {0, 1, 4}


def test_without_a_guess_nothing_changes():
    model = TableModel(torch.softmax(torch.randn(5, 5, generator=torch.Generator().manual_seed(3)), -1))
    plain = IndependentDraft(model).start(
        DraftRequest(5, torch.device("cpu"), Sampling().distributions, torch.Generator().manual_seed(7), True, 100)
    )
    expected = complete(plain.propose([1], StaticGrowth(parse_shape("3x3", "mixed"))))
    assert propose([Told()], "3x3", "mixed", 7, model).tokens.tolist() == expected.tokens.tolist()


def test_guesses_below_a_guess_are_asked_for_with_its_path():
    class Paths(Told):
        def guesses(self, committed, path):
            asked.append((list(committed), list(path)))
            return [Guess(2, 0.9)]

    asked = []
    propose([Paths()], "2x3", "fixed")
    assert asked[:3] == [([1], []), ([1], [2]), ([1], [0])]
    assert ([1], [2, 0]) in asked


@pytest.mark.parametrize(
    "spec", ["skip=1+lookup", "first=2+automaton", "lookup+skip=1", "skip=1+lookup+automaton", "model"]
)
@pytest.mark.parametrize("tree", ["3x2", "grow:nodes=12", "opt:nodes=12"])
def test_greedy_text_is_the_target_s_own(spec, tree):
    target = tiny("llama")
    draft = CombinedDraft(IndependentDraft(near_copy("llama")), [AutomatonSource()]) if spec == "model" else spec
    result = generate(target, draft, PROMPT, tree=tree, temperature=0, max_new_tokens=16, eos_token_id=None)
    assert result.sequences[0].tolist() == greedy_reference(target, COMMITTED, 16)
    if spec == "lookup+skip=1":
        assert result.stats.draft == "skip=1+lookup"


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("tree", ["3x3", "grow:nodes=16"])
def test_guesses_beside_a_head_reach_tokens_that_it_cannot_propose(tree, reduced):
    # Of a reduced draft vocabulary some tokens have Q = 0; the head reads them below a guess all the same.
    target, head = tiny("llama"), random_draft("llama", 3, reduced)
    draft = CombinedDraft(head, [LookupSource(), AutomatonSource()])
    assert draft.features == head.features
    options = {"tree": tree, "max_new_tokens": 24, "eos_token_id": None}
    greedy = generate(target, draft, PROMPT, temperature=0, **options)
    assert greedy.sequences[0].tolist() == greedy_reference(target, COMMITTED, 24)
    alone = generate(target, head, PROMPT, temperature=0, **options)
    assert greedy.stats.tau > alone.stats.tau
    texts = [generate(target, draft, PROMPT, seed=seed, **options).sequences.tolist() for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("method", ["univer", "mixed", "univer-mixed", "membership"])
def test_a_seed_gives_the_same_text_again(method):
    texts = [
        generate(
            tiny("llama"),
            "skip=1+lookup+automaton",
            PROMPT,
            method=method,
            tree="4x2",
            max_new_tokens=20,
            seed=seed,
            eos_token_id=None,
        ).sequences.tolist()
        for seed in (5, 5, 6)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_the_finished_text_reaches_the_store():
    store = SharedText()
    draft = CombinedDraft(skip_layers(tiny("llama"), [1]), [AutomatonSource(shared=store)])
    result = generate(tiny("llama"), draft, PROMPT, max_new_tokens=8, seed=0, eos_token_id=None)
    assert len(store) == result.sequences.shape[1] + 1


@pytest.mark.parametrize(("method", "tree"), [("traversal", "2x2"), ("block", "chain-3"), ("univer", "chain-3")])
def test_trees_without_fixed_children_have_no_place_for_guesses(method, tree):
    with pytest.raises(ValueError, match="the guesses of the draft skip=1\\+lookup are fixed children"):
        generate(tiny("llama"), "skip=1+lookup", PROMPT, method=method, tree=tree, max_new_tokens=4)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("skip=1+first=1", "unknown draft 'skip=1\\+first=1'.* one at most runs a model"),
        ("lookup+lookup", "names a source twice"),
        ("skip=1+", "unknown draft 'skip=1\\+'"),
        ("+", "unknown draft"),
        ("", "unknown draft"),
        ("skip=1+lokup", "unknown draft 'skip=1\\+lokup'"),
    ],
)
def test_combinations_that_make_no_sense_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        generate(tiny("llama"), spec, PROMPT, max_new_tokens=4)


def test_a_combination_needs_rows_and_a_source():
    with pytest.raises(ValueError, match="no distributions to sample from"):
        CombinedDraft(GuessDraft([LookupSource()]), [AutomatonSource()])
    with pytest.raises(ValueError, match="at least one guess source"):
        CombinedDraft(IndependentDraft(near_copy("llama")), [])
