"""The prompt, the random source and the settings of the draft."""

import numpy as np
import pytest
import torch
from transformers import BatchEncoding

from engine.families import near_copy, tiny
from univer.engine import Sampling, generate
from univer.engine.options import Options, prompt_rows, prompt_tokens

PROMPT = torch.tensor([[3, 14, 15]])


def test_the_draft_has_the_settings_of_the_target_by_default():
    options = Options(temperature=0.7, top_k=5, top_p=0.9, min_p=0.1)
    assert options.effective_draft_sampling == options.sampling == Sampling(0.7, 5, 0.9, 0.1)
    assert Options(temperature=0.7, top_k=5, draft_temperature=1.2).effective_draft_sampling == Sampling(1.2, 5)
    assert Options(temperature=0.7, draft_sampling=Sampling(top_k=3)).effective_draft_sampling == Sampling(top_k=3)


@pytest.mark.parametrize("draft_temperature", [None, 0, 1])
def test_at_temperature_0_the_draft_ranks_by_its_untempered_law(draft_temperature):
    assert Options(temperature=0, top_k=1, draft_temperature=draft_temperature).effective_draft_sampling == Sampling()
    stats = generate(
        tiny("llama"), near_copy("llama"), PROMPT, temperature=0, draft_temperature=draft_temperature, tree="3x2"
    ).stats
    assert stats.rounds[0].drafted == 12


def test_draft_settings_exclude_each_other():
    with pytest.raises(ValueError, match="draft_temperature or draft_sampling"):
        generate(tiny("llama"), near_copy("llama"), PROMPT, draft_temperature=1.0, draft_sampling=Sampling())


def test_fault_18_padding_on_either_side_is_stripped_and_gaps_are_refused():
    padded = torch.tensor([[0, 0, 3, 14, 15]])
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    options = {"temperature": 0, "max_new_tokens": 6}
    result = generate(tiny("llama"), near_copy("llama"), padded, attention_mask=mask, **options)
    assert torch.equal(result.sequences, generate(tiny("llama"), None, PROMPT, **options).sequences)
    on_the_right = generate(tiny("llama"), None, padded.flip(1), attention_mask=mask.flip(1), **options)
    assert torch.equal(on_the_right.sequences, generate(tiny("llama"), None, PROMPT.flip(1), **options).sequences)
    with pytest.raises(ValueError, match="hides tokens inside the prompt"):
        generate(tiny("llama"), None, padded, attention_mask=torch.tensor([[0, 1, 0, 1, 1]]))
    with pytest.raises(ValueError, match="attention_mask has 3 entries for 5 tokens"):
        generate(tiny("llama"), None, padded, attention_mask=mask[:, :3])


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (torch.zeros(1, 0, dtype=torch.long), ValueError, "the prompt is empty"),
        (torch.zeros(1, 2, 3, dtype=torch.long), ValueError, r"must be \[1, length\]"),
        (torch.tensor([[5, 10]]), ValueError, "outside the target's vocabulary of 10"),
        (torch.tensor([[5, -1]]), ValueError, "outside the target's vocabulary of 10"),
        (torch.tensor([[0.5]]), TypeError, "whole numbers"),
    ],
)
def test_prompts_that_are_none(ids, error, message):
    with pytest.raises(error, match=message):
        prompt_tokens(ids, None, 10)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([[1, None]], TypeError, "input_ids must hold whole numbers"),
        ([[1, 2], 3], TypeError, "input_ids must hold whole numbers"),
        ([[2**70]], TypeError, "input_ids must hold whole numbers"),
        (5, TypeError, "must be a tensor or a list of token ids, not a int"),
        ([[1, 2], [1, None]], TypeError, "^prompt 1: input_ids must hold whole numbers"),
        ([[1, 2], []], ValueError, "^prompt 1: the prompt is empty"),
        ([[99], [1]], ValueError, "^prompt 0: the prompt holds ids outside the target's vocabulary of 10"),
        ([[99]], ValueError, "^the prompt holds ids outside"),
    ],
)
def test_of_several_prompts_the_faulty_one_is_numbered(ids, error, message):
    with pytest.raises(error, match=message):
        prompt_rows(ids, None, 10)


@pytest.mark.parametrize("mask", [[[0, 1, 1]], [0, 1, 1], np.array([[0, 1, 1]]), torch.tensor([[0, 1, 1]])])
def test_masks_are_tensors_or_lists(mask):
    assert prompt_rows([[0, 4, 5]], mask, 10) == [[4, 5]]


def test_masks_of_prompts_of_different_lengths():
    assert prompt_rows([[0, 4, 5], [6]], [[0, 1, 1], [1]], 10) == [[4, 5], [6]]
    with pytest.raises(ValueError, match="prompt 1: attention_mask has 2 entries for 1 tokens"):
        prompt_rows([[0, 4, 5], [6]], [[0, 1, 1], [1, 1]], 10)


@pytest.mark.parametrize("mask", ["011", [[0, None, 1]], [["a"]]])
def test_masks_of_another_type_are_refused_by_name(mask):
    with pytest.raises(TypeError, match="attention_mask must hold 1 for a token and 0 for padding"):
        prompt_rows([[0, 4, 5]], mask, 10)


@pytest.mark.parametrize("mask", [torch.tensor([[0.0, 0.0, -torch.inf]]), [[0, 1, 2]]])
def test_masks_of_other_numbers_are_refused(mask):
    with pytest.raises(ValueError, match="attention_mask must hold 1 for a token and 0 for padding"):
        prompt_rows([[0, 4, 5]], mask, 10)


def test_a_flat_list_is_a_prompt():
    assert prompt_tokens([4, 5], None, 10) == [4, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 2.5}, "max_new_tokens must be an integer, not 2.5"),
        ({"max_new_tokens": "3"}, "max_new_tokens must be an integer, not '3'"),
        ({"seed": "a"}, "seed must be an integer"),
        ({"streamer": object()}, "streamer must have methods put and end"),
    ],
)
def test_wrong_types_are_refused_by_name(options, message):
    with pytest.raises(TypeError, match=message):
        generate(tiny("llama"), None, PROMPT, **options)


@pytest.mark.parametrize(
    ("ids", "message"),
    [(None, "not a NoneType"), ("hi", "not a str"), (BatchEncoding({"input_ids": PROMPT}), "pass its .input_ids")],
)
def test_prompts_of_another_type_are_refused_by_name(ids, message):
    with pytest.raises(TypeError, match=message):
        generate(tiny("llama"), None, ids)


def test_a_target_without_a_head_is_refused():
    with pytest.raises(ValueError, match="LlamaModel has no language-model head"):
        generate(tiny("llama").model, None, PROMPT)


@pytest.mark.parametrize(("method", "tree"), [("block", "chain-5"), ("univer", "2x5")])
def test_the_tree_by_default_suits_the_method(method, tree):
    result = generate(tiny("llama"), near_copy("llama"), PROMPT, method=method, max_new_tokens=4, seed=0)
    assert result.stats.tree == tree
