"""The doctor as a whole, on sound pairs and on broken ones."""

import copy

import pytest
import torch
from transformers import BloomConfig, BloomForCausalLM, LlamaForCausalLM

from engine.families import VOCABULARY, near_copy, tiny
from tiny_models import byte_tokenizer, tiny_llama
from univer.doctor import examine


class Leaking(LlamaForCausalLM):
    """Ignores the mask: every token sees all before it, siblings included."""

    def forward(self, input_ids, attention_mask=None, cache=None, **arguments):
        return super().forward(input_ids, attention_mask=None, cache=cache, **arguments)


def test_a_sound_pair_in_float32():
    told = []
    report = examine(tiny("llama"), near_copy("llama"), new_tokens=10, progress=lambda *done: told.append(done))
    assert report.sound
    (identity,) = report.identities
    assert identity.tokens == 30
    assert told[-1] == ("identity in float32", 3, 3)
    assert str(report).splitlines()[-1] == "ok       identity in float32: the same, 30 tokens of 3 texts compared"


def test_a_target_in_bfloat16_is_compared_in_both_precisions_and_left_alone():
    target = copy.deepcopy(tiny("llama")).bfloat16()
    report = examine(target, "first=1", new_tokens=10)
    assert report.sound, str(report)
    assert [identity.dtype for identity in report.identities] == ["float32", "bfloat16"]
    assert report.identities[0].differences == []
    assert target.dtype == torch.bfloat16
    only = examine(target, "first=1", new_tokens=4, float32=False)
    assert [identity.dtype for identity in only.identities] == ["bfloat16"]


def test_fault_22_a_logic_error_is_named_with_its_step_and_gap():
    target = Leaking(tiny("llama").config).eval()
    target.load_state_dict(tiny("llama").state_dict())
    report = examine(target, near_copy("llama"), tree="3x3", new_tokens=16)
    assert not report.sound
    finding = report.findings[-1]
    assert (finding.name, finding.level) == ("identity in float32", "error")
    assert "more than rounding can explain" in finding.message
    assert "this is a fault of univer" in finding.advice
    (identity,) = report.identities
    difference = identity.errors[0]
    assert difference.behind > difference.tolerance
    assert report.to_dict()["identities"][0]["differences"][0]["tie"] is False


def test_a_model_that_honours_no_tree_is_an_error_before_any_text():
    target = BloomForCausalLM(BloomConfig(vocab_size=VOCABULARY, hidden_size=16, n_layer=2, n_head=4)).eval()
    report = examine(target, "lookup")
    assert [finding.name for finding in report.findings if finding.level == "error"] == ["tree attention"]
    assert report.identities == []


@pytest.mark.parametrize("draft", ["first=9", "nothing", 0.5])
def test_a_draft_that_cannot_be_made_is_an_error(draft):
    report = examine(tiny("llama"), draft)
    assert [finding.name for finding in report.findings if finding.level == "error"] == ["draft"]
    assert not report.sound


def test_what_an_error_leaves_out_is_named():
    report = examine(tiny("llama"), "nothing")
    assert str(report).splitlines()[-2:] == [
        "warning  tree attention: skipped because of the error above",
        "warning  identity: skipped because of the error above",
    ]


def test_a_request_that_the_engine_refuses_is_an_error():
    report = examine(tiny("gpt2"), "lookup", new_tokens=1000)
    assert "exceed the 96 positions" in report.findings[-1].message
    assert not report.sound


def test_prompts_come_from_the_tokenizer():
    tokenizer = byte_tokenizer()
    report = examine(tiny_llama(0), tiny_llama(1), tokenizer=tokenizer, draft_tokenizer=tokenizer, new_tokens=4)
    assert report.sound, str(report)
    assert report.identities[0].prompts == 3


def test_an_end_of_text_that_is_no_token_is_an_error():
    target = copy.deepcopy(tiny("llama"))
    target.generation_config.eos_token_id = -5
    report = examine(target, "lookup")
    assert [finding.name for finding in report.findings if finding.level == "error"] == ["special ids"]
