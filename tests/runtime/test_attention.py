"""Masks: polarity, dtype and windows."""

from types import SimpleNamespace

import pytest
import torch
from transformers import GPTNeoConfig, GPTNeoForCausalLM

from engine.families import FAMILIES, VOCABULARY, WINDOW, tiny
from univer.engine import generate
from univer.runtime.attention import LAYER_TYPES, OWN_LIMITS, AttentionPattern, attention_pattern


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_fault_20_masks_are_additive_and_finite(dtype):
    pattern = AttentionPattern({"full_attention": None}, "sdpa")
    visible = torch.tensor([[True, False, True], [True, True, False]])
    mask = pattern.mask(visible[None], torch.tensor([[1, 1]]), torch.tensor([[0, 1, 1]]), dtype)
    assert mask.shape == (1, 1, 2, 3)
    assert mask.dtype == dtype
    assert torch.equal(mask[0, 0] == 0, visible)
    assert (mask[0, 0][~visible] == torch.finfo(dtype).min).all()


def test_window_counts_the_query_itself():
    pattern = AttentionPattern({"sliding_attention": 2}, "eager")
    mask = pattern.mask(
        torch.ones(1, 1, 4, dtype=torch.bool), torch.tensor([[3]]), torch.arange(4)[None], torch.float32
    )
    assert (mask[0, 0, 0] == 0).tolist() == [False, False, True, True]


def test_models_that_mix_layers_get_one_mask_for_each_kind():
    pattern = attention_pattern(tiny("gemma3").config)
    assert pattern.windows == {"full_attention": None, "sliding_attention": WINDOW}
    visible = torch.ones(1, 1, 9, dtype=torch.bool)
    masks = pattern.mask(visible, torch.tensor([[8]]), torch.arange(9)[None], torch.float32)
    assert {kind: int((mask == 0).sum()) for kind, mask in masks.items()} == {
        "full_attention": 9,
        "sliding_attention": WINDOW,
    }


def test_the_pattern_of_a_model_with_one_kind_of_layer():
    assert attention_pattern(tiny("mistral").config).windows == {"sliding_attention": WINDOW}
    assert attention_pattern(tiny("llama").config).windows == {"full_attention": None}
    assert attention_pattern(tiny("qwen2").config).windows == {"full_attention": None}


def test_no_mask_is_needed_for_a_first_block_or_a_single_token_inside_the_window():
    pattern = AttentionPattern({"sliding_attention": 4}, "sdpa")
    assert pattern.causal_without_mask(0, 4)
    assert pattern.causal_without_mask(3, 1)
    assert not pattern.causal_without_mask(0, 5)
    assert not pattern.causal_without_mask(4, 1)
    assert not pattern.causal_without_mask(1, 2)


def test_fault_15_layers_of_another_kind_are_refused_by_name():
    config = SimpleNamespace(layer_types=["full_attention", "linear_attention"], sliding_window=None)
    with pytest.raises(ValueError, match="'linear_attention'"):
        attention_pattern(config)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_family_is_refused(family):
    assert set(attention_pattern(FAMILIES[family][1]).windows) <= set(LAYER_TYPES)


@pytest.mark.parametrize("setting", OWN_LIMITS)
def test_fault_15_windows_that_a_model_counts_by_itself_are_refused_by_name(setting):
    with pytest.raises(ValueError, match=f"limited by {setting} is not supported"):
        attention_pattern(SimpleNamespace(**{setting: 16}))
    assert attention_pattern(SimpleNamespace(**{setting: None})).windows == {"full_attention": None}


@pytest.mark.parametrize("role", ["target", "draft"])
def test_fault_15_a_local_window_by_the_place_in_the_cache_is_refused_before_the_first_token(role):
    config = GPTNeoConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_layers=2, num_heads=4, attention_types=[[["local", "global"], 1]]
    )
    model, prompt = GPTNeoForCausalLM(config).eval(), torch.tensor([[5, 7, 9]])
    target, draft = (model, "lookup") if role == "target" else (tiny("llama"), model)
    with pytest.raises(ValueError, match=f"the {role} GPTNeoForCausalLM: attention that is limited by attention_types"):
        generate(target, draft, prompt, temperature=0, max_new_tokens=60, tree="2x5")
