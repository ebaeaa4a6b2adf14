"""The real default model: what was converted is the model that was meant."""

from typing import Any

import pytest
import torch

from univer.models import load

pytestmark = pytest.mark.slow

Pair = tuple[Any, Any]


def _answer(pair: Pair, question: str, length: int) -> list[int]:
    model, tokenizer = pair
    messages = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.no_grad():
        output = model.generate(**prompt, max_new_tokens=length, do_sample=False)
    return output[0, prompt["input_ids"].shape[1] :].tolist()


def test_the_model_has_the_shape_of_the_original(smollm2: Pair) -> None:
    model, _ = smollm2
    config = model.config
    assert (config.num_hidden_layers, config.hidden_size, config.vocab_size) == (30, 576, 49152)
    assert (config.num_attention_heads, config.num_key_value_heads, config.max_position_embeddings) == (9, 3, 8192)
    assert model.get_input_embeddings().weight.data_ptr() == model.get_output_embeddings().weight.data_ptr()
    assert not getattr(config, "quantization_config", None)


def test_the_text_at_temperature_zero_makes_sense(smollm2: Pair) -> None:
    text = smollm2[1].decode(_answer(smollm2, "What is the capital of France?", 24))
    assert "Paris" in text


def test_an_answer_ends_with_the_end_of_turn_and_nothing_after_it(smollm2: Pair) -> None:
    model, tokenizer = smollm2
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert model.generation_config.eos_token_id == model.config.eos_token_id == tokenizer.eos_token_id == end == 2
    answer = _answer(smollm2, "What is the capital of France?", 64)
    assert answer.count(end) == 1
    assert answer[-1] == end


def test_a_chat_becomes_the_text_that_the_model_was_trained_on(smollm2: Pair) -> None:
    _, tokenizer = smollm2
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert text == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    ids = tokenizer(text).input_ids
    assert ids.count(1) == 3
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("text", ["caf\u00e9 \u4f60\u597d \U0001f600", "x = 12345\n\n\tif y:", " a  b .", ""])
def test_text_survives_the_tokenizer(smollm2: Pair, text: str) -> None:
    _, tokenizer = smollm2
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_numbers_are_split_into_digits_as_in_training(smollm2: Pair) -> None:
    _, tokenizer = smollm2
    assert [tokenizer.decode([token]) for token in tokenizer("in 1234").input_ids] == ["in", " ", "1", "2", "3", "4"]


def test_both_types_hold_the_same_weights(smollm2: Pair) -> None:
    half, _ = load("smollm2-135m", dtype="bfloat16", device="cpu")
    for name, weight in smollm2[0].state_dict().items():
        assert torch.equal(half.state_dict()[name].float(), weight), name
