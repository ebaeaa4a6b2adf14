"""Generation settings that would change the text are refused by name, never dropped."""

import copy
from types import SimpleNamespace

import pytest
import torch
from transformers import DynamicCache

from engine.families import near_copy, tiny
from univer.engine import generate, plain
from univer.engine.settings import applied_settings, check_settings

PROMPT = torch.tensor([[3, 14, 15]])

UNSUPPORTED = {
    "encoder_repetition_penalty": 1.1,
    "encoder_no_repeat_ngram_size": 3,
    "guidance_scale": 1.5,
    "num_beams": 4,
    "num_return_sequences": 2,
    "penalty_alpha": 0.5,
    "token_healing": True,
    "cache_implementation": "static",
}


def with_setting(name, value):
    target = copy.copy(tiny("llama"))
    target.generation_config = copy.deepcopy(target.generation_config)
    setattr(target.generation_config, name, value)
    return target


@pytest.mark.parametrize("name", UNSUPPORTED)
@pytest.mark.parametrize("temperature", [0, 1])
def test_fault_26_settings_are_refused_wherever_they_come_from(name, temperature):
    value = UNSUPPORTED[name]
    with pytest.raises(ValueError, match=rf"{name}=.* is not supported; pass {name}="):
        generate(tiny("llama"), "lookup", PROMPT, temperature=temperature, max_new_tokens=2, **{name: value})
    target = with_setting(name, value)
    for run in (plain, lambda *args, **options: generate(args[0], near_copy("llama"), args[1], **options)):
        with pytest.raises(ValueError, match=f"{name}=.*set by the target's generation_config"):
            run(target, PROMPT, temperature=temperature, max_new_tokens=2)


@pytest.mark.parametrize("implementation", ["static", "sliding_window", "quantized", "offloaded"])
def test_fault_15_cache_kinds_that_are_not_ours_are_refused(implementation):
    with pytest.raises(ValueError, match=f"cache_implementation='{implementation}'"):
        generate(with_setting("cache_implementation", implementation), None, PROMPT, max_new_tokens=2)


def test_a_neutral_value_from_the_caller_goes_before_the_configuration():
    target = with_setting("repetition_penalty", 1.1)
    result = generate(target, "lookup", PROMPT, temperature=0, max_new_tokens=4, repetition_penalty=1.0)
    expected = generate(tiny("llama"), "lookup", PROMPT, temperature=0, max_new_tokens=4)
    assert torch.equal(result.sequences, expected.sequences)


@pytest.mark.parametrize(("name", "value"), [("typical_p", 0.9), ("epsilon_cutoff", 0.01), ("eta_cutoff", 0.01)])
def test_settings_of_sampling_matter_only_there(name, value):
    config = SimpleNamespace(**{name: value})
    check_settings(config, {}, greedy=True)
    with pytest.raises(ValueError, match=name):
        check_settings(config, {}, greedy=False)


def test_fault_26_settings_that_are_applied_are_refused_where_they_are_not():
    config = SimpleNamespace(repetition_penalty=1.3)
    check_settings(config, {}, greedy=False)
    with pytest.raises(ValueError, match=r"repetition_penalty=1.3 .* pass repetition_penalty=1.0"):
        check_settings(config, {}, greedy=False, applied=False)


def test_fault_26_settings_that_are_applied_come_from_the_configuration_unless_the_caller_names_them():
    config = SimpleNamespace(repetition_penalty=1.3, suppress_tokens=[4], min_length=0, stop_strings=None)
    assert applied_settings(config, {}) == {"repetition_penalty": 1.3, "suppress_tokens": [4]}
    assert applied_settings(config, {"suppress_tokens": None, "max_time": 2}) == {
        "repetition_penalty": 1.3,
        "max_time": 2,
    }
    assert applied_settings(None, {"min_new_tokens": 3}) == {"min_new_tokens": 3}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repetition_penalty": 0}, "repetition_penalty=0: "),
        ({"repetition_penalty": -1.0}, "repetition_penalty=-1.0: "),
        ({"no_repeat_ngram_size": -2}, "no_repeat_ngram_size=-2: "),
        ({"bad_words_ids": [5]}, r"bad_words_ids=\[5\]: "),
        ({"frequency_penalty": float("nan")}, "frequency_penalty=nan: "),
        ({"presence_penalty": float("inf")}, "presence_penalty=inf: "),
        ({"exponential_decay_length_penalty": (2, 1.5), "eos_token_id": None}, "pass eos_token_id"),
        ({"max_time": -1}, "max_time must be a number of seconds"),
        ({"stop_strings": ["a"]}, "pass tokenizer="),
        ({"stop_strings": [""]}, "an empty text"),
        ({"suppress_tokens": [9999]}, "suppress_tokens holds 9999, which is outside the target's vocabulary"),
        ({"begin_suppress_tokens": [3, -1]}, "begin_suppress_tokens holds -1"),
        ({"bad_words_ids": [[3], [4, 9999]]}, "bad_words_ids holds 9999, which is outside the target's vocabulary"),
        ({"bad_words_ids": [[-3]]}, "bad_words_ids holds -3"),
        ({"sequence_bias": {(3, 61): -1.0}}, "sequence_bias holds 61, which is outside the target's vocabulary"),
        ({"sequence_bias": [[[3, 9999], 2.0]]}, "sequence_bias holds 9999"),
        ({"sequence_bias": [[[3], 9999]]}, r"sequence_bias=\[\[\[3\], 9999\]\]: "),
        ({"prefix_allowed_tokens_fn": 3}, "prefix_allowed_tokens_fn=3: it must be a function"),
        ({"forced_eos_token_id": 9999}, "forced_eos_token_id holds 9999"),
        ({"forced_bos_token_id": -2}, "forced_bos_token_id holds -2"),
        ({"draft_temperature": -1}, "^draft_temperature must be 0 .greedy. or positive, not -1"),
        ({"seed": 2**70}, r"seed must be at least 0 and below 2\*\*64"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": [-1]}, "seed must be at least 0"),
    ],
)
def test_fault_28_settings_out_of_range_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        generate(tiny("llama"), "lookup", PROMPT, max_new_tokens=2, **settings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"logits_processor": [3]}, "logits_processor must be a callable or a list"),
        ({"stopping_criteria": "stop"}, "stopping_criteria must be a callable or a list"),
        ({"logprobs": -1}, "logprobs must be True, False or the number"),
        ({"stop_strings": [3]}, "stop_strings must be a text or a list of texts"),
        ({"suppress_tokens": ["a"]}, "suppress_tokens must be a token id or a list of them"),
        ({"forced_eos_token_id": 1.5}, "forced_eos_token_id must be a token id"),
        ({"temperature": "hot"}, "^temperature must be a number, not 'hot'"),
        ({"temperature": None}, "^temperature must be a number, not None"),
        ({"draft_temperature": "a"}, "^draft_temperature must be a number, not 'a'"),
        ({"draft_temperature": "a", "temperature": 0}, "^draft_temperature must be a number, not 'a'"),
        ({"draft_sampling": {"top_k": 3}}, "draft_sampling must be a univer.engine.Sampling"),
        ({"generator": 5}, "generator must be a torch.Generator, not 5"),
        ({"tokenizer": 5, "stop_strings": ["a"]}, "tokenizer must be a tokenizer of transformers, not 5"),
        ({"draft_tokenizer": "gpt2"}, "draft_tokenizer must be a tokenizer of transformers"),
        ({"generation_config": {"top_h": 0.5}}, "generation_config must be a GenerationConfig of transformers"),
        ({"generation_config": {}}, "generation_config must be a GenerationConfig of transformers"),
    ],
)
def test_options_of_another_type_are_refused_by_name(options, message):
    with pytest.raises(TypeError, match=message):
        generate(tiny("llama"), "lookup", PROMPT, max_new_tokens=2, **options)


@pytest.mark.parametrize("name", ["past_key_values", "cache"])
def test_fault_19_a_cache_handed_in_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} is not supported"):
        generate(tiny("llama"), "lookup", PROMPT, max_new_tokens=2, **{name: DynamicCache()})


def test_unknown_settings_are_an_error():
    with pytest.raises(TypeError, match="no setting 'temperatur'"):
        generate(tiny("llama"), "lookup", PROMPT, temperatur=0.5)


def test_do_sample_must_agree_with_the_temperature():
    with pytest.raises(ValueError, match="do_sample is decided by the temperature"):
        generate(tiny("llama"), "lookup", PROMPT, do_sample=False)
    generate(tiny("llama"), "lookup", PROMPT, do_sample=False, temperature=0, max_new_tokens=2)


@pytest.mark.parametrize("options", [{"temperature": -1}, {"top_p": 0}, {"top_k": 0}, {"min_p": 2}])
def test_fault_28_ranges_are_checked_before_anything_runs(options):
    class Untouchable:
        def __getattr__(self, name):
            raise AssertionError("the target was used")

    with pytest.raises(ValueError, match=next(iter(options))):
        generate(Untouchable(), None, PROMPT, **options)
