"""A GGUF file becomes a directory with the same model."""

import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from models.gguf_wheel import write_gguf
from tiny_models import CHAT_TEMPLATE, tiny_llama
from univer.models.convert import convert_gguf


def test_the_converted_model_is_the_one_in_the_file(tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf", seed=3)
    target = tmp_path / "out"
    target.mkdir()
    convert_gguf(tmp_path / "tiny.gguf", target)

    config = json.loads((target / "config.json").read_text())
    assert "quantization_config" not in config
    assert config["dtype"] == "bfloat16"
    assert str(tmp_path) not in (target / "config.json").read_text()

    model = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32)
    expected = tiny_llama(3).to(torch.bfloat16).to(torch.float32)
    for name, weight in expected.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], weight, rtol=0, atol=0, msg=name)
    assert (model.generation_config.eos_token_id, model.generation_config.pad_token_id) == (2, 0)

    tokenizer = AutoTokenizer.from_pretrained(target)
    assert tokenizer.chat_template == CHAT_TEMPLATE
    assert tokenizer.model_max_length == 512
    text = "caf\u00e9 <|im_end|>"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
    assert tokenizer("<|im_end|>").input_ids == [2]
