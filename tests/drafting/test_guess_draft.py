"""Trees of guesses alone: slots by confidence over several sources, and what the engine does with such a draft."""

from collections.abc import Sequence

import pytest
import torch

from engine.families import greedy_reference, tiny
from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import Draft, DraftRequest
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.guess_draft import GuessDraft
from univer.drafting.guesses import Guess, GuessSession, GuessSource
from univer.drafting.lookup import LookupSource
from univer.drafting.shapes import parse_shape
from univer.drafting.shared_text import SharedText
from univer.engine import Sampling, generate, generate_rounds

PROMPT = torch.tensor([[3, 14, 15, 9, 26, 5, 3, 14, 15]])


class Scripted(GuessSource, GuessSession):
    """Guesses the same tokens everywhere."""

    def __init__(self, name: str, *guesses: tuple[int, float]) -> None:
        self.name = name
        self.told = [Guess(*guess) for guess in guesses]

    def start(self, request: DraftRequest) -> "Scripted":
        return self

    def guesses(self, committed: Sequence[int], path: Sequence[int]) -> list[Guess]:
        return self.told if len(path) < 2 else []


def propose(draft: GuessDraft, text: list[int], tree: str):
    session = draft.start(
        DraftRequest(100, torch.device("cpu"), Sampling().distributions, torch.Generator(), True, 1000)
    )
    return session.propose(text, StaticGrowth(parse_shape(tree, "fixed")))


def test_the_most_confident_guesses_of_all_sources_take_the_slots():
    draft = GuessDraft([Scripted("a", (5, 0.6), (6, 0.2)), Scripted("b", (6, 0.4), (7, 0.5))])
    assert isinstance(draft, Draft)
    assert draft.name == "a+b"
    tree = propose(draft, [1], "2x3")
    assert tree.tokens[1:].tolist() == [5, 7, 5, 7, 5, 7]
    assert set(tree.slots[1:]) == {"fixed"}
    assert max(tree.depths) == 2
    assert propose(draft, [1], "4x1").tokens[1:].tolist() == [5, 7, 6]


def test_a_source_is_needed():
    with pytest.raises(ValueError, match="at least one source"):
        GuessDraft([])


@pytest.mark.parametrize("draft", ["lookup", "automaton", "lookup+automaton", "automaton+lookup", LookupSource()])
@pytest.mark.parametrize("tree", ["2x3", "chain-4", "grow:nodes=12", "eagle2:nodes=12,depth=4,top_k=3", "opt:nodes=12"])
def test_greedy_text_is_the_target_s_own(draft, tree):
    result = generate(tiny("llama"), draft, PROMPT, tree=tree, temperature=0, max_new_tokens=24, eos_token_id=None)
    assert result.sequences[0].tolist() == greedy_reference(tiny("llama"), PROMPT[0].tolist(), 24)
    assert result.stats.draft == (draft if isinstance(draft, str) else "lookup")
    assert result.stats.drafted > result.stats.accepted > 0


def test_a_second_request_takes_the_first_one_s_text_from_the_store():
    store = SharedText()
    draft = AutomatonSource(shared=store)
    options = {"tree": "chain-4", "temperature": 0, "max_new_tokens": 24, "eos_token_id": None}
    first = generate(tiny("llama"), draft, PROMPT, **options)
    assert len(store) == first.sequences.shape[1] + 1
    second = generate(tiny("llama"), draft, PROMPT, **options)
    assert second.sequences.tolist() == first.sequences.tolist()
    assert second.stats.tau > first.stats.tau
    assert generate(tiny("llama"), "automaton", PROMPT, **options).stats.tau == first.stats.tau


def test_an_interrupted_request_leaves_the_store_alone():
    store = SharedText()
    steps = generate_rounds(
        tiny("llama"), AutomatonSource(shared=store), PROMPT, max_new_tokens=24, seed=0, eos_token_id=None
    )
    next(steps)
    next(steps)
    assert len(store) == 0
