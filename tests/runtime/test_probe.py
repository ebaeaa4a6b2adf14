"""Architectures that the tests do not cover are asked whether they honour a tree."""

import copy

import pytest
import torch
from torch import nn
from transformers import BloomConfig, BloomForCausalLM, OlmoConfig, OlmoForCausalLM

from engine.families import DECODER, VOCABULARY, greedy_reference, tiny
from univer.engine import generate
from univer.runtime.probe import TESTED, check_tree_attention


def test_positions_taken_from_the_place_in_the_cache_are_refused():
    model = BloomForCausalLM(BloomConfig(vocab_size=VOCABULARY, hidden_size=16, n_layer=2, n_head=4)).eval()
    prompt = torch.tensor([[3, 4, 3]])
    with pytest.raises(ValueError, match="the target BloomForCausalLM does not honour the positions and the mask"):
        generate(model, "lookup", prompt, max_new_tokens=4)
    with pytest.raises(ValueError, match="the draft BloomForCausalLM does not honour the positions and the mask"):
        generate(tiny("llama"), model, prompt, max_new_tokens=4)


def test_a_model_that_mixes_branches_is_refused():
    class Leaking(OlmoForCausalLM):
        """Ignores the mask: every token sees all before it."""

        def forward(self, input_ids, attention_mask=None, cache=None, **arguments):
            return super().forward(input_ids, attention_mask=None, cache=cache, **arguments)

    Leaking.__module__ = OlmoForCausalLM.__module__
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Leaking(OlmoConfig(**DECODER)).eval()
    with pytest.raises(ValueError, match="its logits differ by"):
        check_tree_attention(model, "target")


def test_an_architecture_that_honours_trees_is_accepted():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = OlmoForCausalLM(OlmoConfig(**DECODER)).eval()
    assert model.config.model_type not in TESTED
    check_tree_attention(model, "target")
    prompt = [3, 4, 5, 3, 4]
    result = generate(model, "lookup", torch.tensor([prompt]), temperature=0, max_new_tokens=12, eos_token_id=None)
    assert result.sequences[0].tolist() == greedy_reference(model, prompt, 12)


def test_a_model_in_training_mode_is_asked_in_evaluation_mode():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = OlmoForCausalLM(OlmoConfig(**DECODER, attention_dropout=0.5)).train()
    result = generate(model, "first=1", torch.tensor([[3, 4, 5]]), temperature=0, max_new_tokens=6)
    assert model.training
    assert all(module.training for module in model.modules())
    expected = generate(model.eval(), None, torch.tensor([[3, 4, 5]]), temperature=0, max_new_tokens=6)
    assert torch.equal(result.sequences, expected.sequences)


def test_a_model_is_asked_only_once():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = OlmoForCausalLM(OlmoConfig(**DECODER)).eval()
    calls = []
    model.register_forward_hook(lambda *_: calls.append(1))
    check_tree_attention(model, "target")
    asked = len(calls)
    check_tree_attention(model, "target")
    assert len(calls) == asked > 0


def dynamic(layers):
    """The tiny Llama with linear layers whose activations are quantised by the largest one of a pass."""
    model = copy.deepcopy(tiny("llama"))
    chosen = {nn.Linear} if layers == "all" else {"lm_head"}
    return torch.ao.quantization.quantize_dynamic(model, chosen, dtype=torch.qint8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layers", ["all", "output"])
def test_found_03_scales_over_all_tokens_of_a_pass_are_refused_by_name(layers):
    model, prompt = dynamic(layers), torch.tensor([[3, 4, 3]])
    message = (
        "LlamaForCausalLM does not honour .* modules of torch.ao.nn.quantized.dynamic.* quantise the weights alone"
    )
    with pytest.raises(ValueError, match=f"the target {message}"):
        generate(model, "lookup", prompt, max_new_tokens=4)
    with pytest.raises(ValueError, match=f"the draft {message}"):
        generate(tiny("llama"), model, prompt, max_new_tokens=4)


@pytest.mark.filterwarnings("ignore")
def test_found_03_such_a_target_decodes_alone_and_without_a_draft_only():
    model = dynamic("all")
    result = generate(model, None, torch.tensor([[3, 4, 5]]), temperature=0, max_new_tokens=8, eos_token_id=None)
    assert result.texts[0] == greedy_reference(model, [3, 4, 5], 8)
    with pytest.raises(ValueError, match="does not honour"):
        generate(model, None, torch.tensor([[3, 4, 5], [6, 7, 8]]), temperature=0, max_new_tokens=8)
