"""Masks: polarity, dtype and windows."""

from types import SimpleNamespace

import pytest
import torch

from engine.families import WINDOW, tiny
from univer.engine.attention import AttentionPattern, attention_pattern


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
