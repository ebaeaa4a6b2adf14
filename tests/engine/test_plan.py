"""The tree of a request that names none."""

import copy

import pytest
import torch

from drafting.eagle.pairs import random_draft
from engine.families import tiny
from univer import generate
from univer.drafting.combined import CombinedDraft
from univer.drafting.eagle.draft import EagleDraft
from univer.drafting.lookup import LookupSource

SUGGESTED = "grow:nodes=9,depth=3"


@pytest.fixture
def draft() -> EagleDraft:
    suggesting = copy.copy(random_draft("llama", 3, reduced=True))
    suggesting.suggested_tree = SUGGESTED
    return suggesting


def tree_of(draft: EagleDraft | CombinedDraft | None, **options: object) -> str:
    prompt = torch.tensor([[3, 4, 5]])
    settings = {"max_new_tokens": 4, "eos_token_id": None, "seed": 0, **options}
    return generate(tiny("llama"), draft, prompt, **settings).stats.tree


def test_a_head_suggests_its_tree(draft: EagleDraft) -> None:
    assert tree_of(draft) == SUGGESTED
    assert tree_of(draft, temperature=0) == SUGGESTED
    assert tree_of(CombinedDraft(draft, [LookupSource()])) == SUGGESTED
    assert tree_of(draft, method="univer-mixed") == SUGGESTED


def test_a_tree_that_is_named_goes_first(draft: EagleDraft) -> None:
    assert tree_of(draft, tree="2x2") == "2x2"


def test_methods_that_cannot_take_the_suggestion_have_a_tree_of_their_own(draft: EagleDraft) -> None:
    assert tree_of(draft, method="block") == "chain-5"
    assert tree_of(draft, method="rrs") == "2x5"
    assert tree_of(random_draft("llama", 3, reduced=True)) == "2x5"
