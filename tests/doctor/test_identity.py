"""Texts with and without trees: the same, a tie, or an error."""

import copy

import pytest
import torch

from engine.families import FAMILIES, greedy_reference, near_copy, tiny
from univer.doctor.identity import Difference, _difference, compare_texts, decode_plainly

PROMPTS = [[3, 14, 15, 9, 26, 5], [7]]


@pytest.mark.parametrize("family", FAMILIES)
def test_plain_decoding_is_that_of_transformers(family):
    tokens, rows = decode_plainly(tiny(family), PROMPTS[0], 9)
    assert PROMPTS[0] + tokens == greedy_reference(tiny(family), PROMPTS[0], 9)
    assert [int(row.argmax()) for row in rows] == tokens


def test_fault_22_texts_in_float32_are_the_same():
    seen = []
    identity = compare_texts(tiny("llama"), near_copy("llama"), PROMPTS, 12, "2x3", lambda *done: seen.append(done))
    assert identity.differences == []
    assert (identity.dtype, identity.prompts, identity.tokens) == ("float32", 2, 24)
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_fault_22_differences_in_half_precision_are_ties(dtype):
    target = copy.deepcopy(tiny("llama")).to(dtype)
    identity = compare_texts(target, near_copy("llama"), [[n, n + 1] for n in range(3, 15)], 24, "3x3")
    assert identity.errors == []
    assert identity.tokens > 200


def test_fault_22_a_tie_is_told_from_an_error_by_the_logits():
    row = torch.tensor([1.0, 4.0, 4.0 - 1e-6, 2.0])
    tie = _difference(0, 3, 2, row, 1e-5)
    assert tie.tie
    assert (tie.plain, tie.tree, tie.step) == (1, 2, 3)
    assert "a floating-point tie" in str(tie)
    error = _difference(1, 5, 3, row, 1e-5)
    assert not error.tie
    assert error.behind == 2.0
    assert error.gap == pytest.approx(1e-6, rel=0.1)
    assert "prompt 1, step 5: token 3 instead of 1" in str(error)
    assert "more than rounding can explain" in str(error)


def test_one_far_behind_is_no_tie_even_where_the_two_best_are_equal():
    assert not Difference(0, 0, 1, 2, gap=0.0, behind=1.0, tolerance=0.1).tie


def test_a_target_in_training_mode_is_compared_without_its_dropout():
    target = copy.deepcopy(tiny("gpt2")).train()
    identity = compare_texts(target, "lookup", PROMPTS, 12, "2x3")
    assert identity.differences == []
    assert all(module.training for module in target.modules())
