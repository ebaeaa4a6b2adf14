"""The checksum of weights: the same for the same models, another for all others."""

import copy

import pytest
import torch
from torch import nn

from drafting.eagle.pairs import random_draft
from engine.families import near_copy, tiny
from univer.bench.checksum import weights_checksum
from univer.drafting.combined import CombinedDraft
from univer.drafting.independent import IndependentDraft
from univer.drafting.layers import skip_layers
from univer.drafting.lookup import LookupSource


@pytest.fixture
def target() -> nn.Module:
    return copy.deepcopy(tiny("llama"))


def test_the_same_weights_have_one_checksum(target: nn.Module) -> None:
    drafts = [IndependentDraft(near_copy("llama")), skip_layers(target, [1])]
    assert weights_checksum(target, drafts) == weights_checksum(copy.deepcopy(target), drafts)


def test_every_part_counts(target: nn.Module) -> None:
    head = random_draft("llama", 3, reduced=False)
    trained = copy.copy(head)
    trained.head = copy.deepcopy(head.head)
    with torch.no_grad():
        trained.head.fc.weight.mul_(1.001)
    noisy = near_copy("llama")
    found = [
        weights_checksum(target, []),
        weights_checksum(noisy, []),
        weights_checksum(target.double(), []),
        *(weights_checksum(noisy, [draft]) for draft in (IndependentDraft(target), IndependentDraft(noisy))),
        *(weights_checksum(noisy, [draft]) for draft in (head, trained)),
        weights_checksum(noisy, [CombinedDraft(trained, [LookupSource()]), skip_layers(noisy, [0])]),
        weights_checksum(noisy, [CombinedDraft(trained, [LookupSource()]), skip_layers(noisy, [1])]),
    ]
    assert len(set(found)) == len(found)


def test_guesses_beside_a_head_hide_no_change_of_it(target: nn.Module) -> None:
    one, other = random_draft("llama", 1, reduced=False), random_draft("llama", 3, reduced=False)
    combined = [CombinedDraft(draft, [LookupSource()]) for draft in (one, other)]
    assert weights_checksum(target, combined[:1]) != weights_checksum(target, combined[1:])


def test_weights_that_are_not_in_memory_count_by_their_shape() -> None:
    small, large = nn.Linear(2, 3, device="meta"), nn.Linear(3, 3, device="meta")
    assert weights_checksum(small, []) == weights_checksum(nn.Linear(2, 3, device="meta"), [])
    assert weights_checksum(small, []) != weights_checksum(large, [])


def test_weights_of_another_layout_count_by_their_shape() -> None:
    sparse, larger = nn.Module(), nn.Module()
    sparse.register_buffer("mask", torch.eye(2).to_sparse())
    larger.register_buffer("mask", torch.eye(3).to_sparse())
    assert weights_checksum(sparse, []) != weights_checksum(larger, [])


def test_a_model_that_moves_to_bfloat16_and_back_is_another_only_where_it_lost_something() -> None:
    layer = nn.Linear(4, 4)
    with torch.no_grad():
        layer.weight.copy_(layer.weight.bfloat16().float())
        layer.bias.zero_()
    before = weights_checksum(layer, [])
    assert weights_checksum(layer.bfloat16().float(), []) == before
