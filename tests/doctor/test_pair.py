"""What configurations, tokenizers and types tell."""

import copy

import pytest
import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, MambaConfig, MambaForCausalLM

from engine.families import DECODER, VOCABULARY, tiny
from tiny_models import byte_tokenizer, tiny_llama
from univer.doctor.pair import check_pair


def found(target, models=(), *tokenizers):
    return {finding.name: finding for finding in check_pair(target, list(models), *tokenizers)}


def small(**changes):
    return LlamaForCausalLM(LlamaConfig(**DECODER | changes)).eval()


def configured(model, **settings):
    model.generation_config = GenerationConfig(**settings)
    return model


def test_a_sound_pair():
    target, tokenizer = tiny_llama(0), byte_tokenizer()
    findings = found(target, [tiny_llama(1)], tokenizer, tokenizer)
    assert {finding.level for finding in findings.values()} == {"ok"}
    assert list(findings) == [
        "target",
        "tokenizers",
        "vocabulary",
        "special ids",
        "dtype",
        "attention",
        "cache",
        "settings",
        "positions",
    ]
    assert findings["positions"].message == "texts of up to 512 tokens"


def test_fault_15_a_model_of_another_kind_is_all_there_is_to_say():
    model = MambaForCausalLM(MambaConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, state_size=4))
    (finding,) = check_pair(model, [])
    assert finding.level == "error"
    assert "keeps a recurrent state" in finding.message
    assert str(finding).startswith("error    target: the target MambaForCausalLM")


def test_fault_24_tokenizers_and_vocabularies():
    class Renamed:
        def get_vocab(self):
            return {token: index + 1 for token, index in byte_tokenizer().get_vocab().items()}

    ours, target = byte_tokenizer(), tiny_llama(0)
    assert found(target, [], ours)["tokenizers"].level == "ok"
    assert found(target, [target], ours)["tokenizers"].level == "warning"
    assert found(target, [target], ours, Renamed())["tokenizers"].level == "error"
    assert "outside" not in found(target, [small()], ours, ours)["vocabulary"].message
    assert f"the draft {VOCABULARY}" in found(target, [small()], ours, ours)["vocabulary"].message
    assert "the target has 61 embeddings" in found(small(), [], ours)["vocabulary"].message


@pytest.mark.parametrize(
    ("settings", "level", "part"),
    [
        ({"eos_token_id": None}, "warning", "length limit only"),
        ({"eos_token_id": [2, 500]}, "error", "eos_token_id 500 is outside"),
        ({"eos_token_id": -5}, "error", "eos_token_id holds -5, which is the id of no token"),
        ({"eos_token_id": [2.5]}, "error", "whole numbers"),
        ({"eos_token_id": 5}, "warning", "the tokenizer's end is 2"),
        ({"eos_token_id": [2, 5]}, "ok", "[2, 5]"),
    ],
)
def test_fault_11_special_ids(settings, level, part):
    finding = found(configured(tiny_llama(0), **settings), [], byte_tokenizer())["special ids"]
    assert finding.level == level
    assert part in finding.message


def test_types_and_attention():
    half = copy.deepcopy(tiny("llama")).half()
    assert found(half)["dtype"].level == "warning"
    assert "nearly tie" in found(copy.deepcopy(half).bfloat16())["dtype"].message
    causal = small()
    causal.config._attn_implementation_internal = "flash_attention_2"
    finding = found(causal)["attention"]
    assert finding.level == "warning"
    assert "attn_implementation='sdpa'" in finding.advice


def test_fault_15_caches():
    assert "sliding windows of 5" in found(tiny("gemma3"))["cache"].message
    static = configured(small(), eos_token_id=2, cache_implementation="static")
    assert found(static)["settings"].level == "error"
    assert "cache_implementation" in found(static)["settings"].message


def test_positions_of_a_shorter_draft():
    finding = found(small(), [small(max_position_embeddings=16)])["positions"]
    assert finding.level == "warning"
    assert finding.message == "the draft has 16 positions, the target 96"


def test_nothing_is_changed():
    target = small()
    before = {name: value.data_ptr() for name, value in target.state_dict().items()}
    found(target, [target])
    assert {name: value.data_ptr() for name, value in target.state_dict().items()} == before
    assert torch.is_grad_enabled()
