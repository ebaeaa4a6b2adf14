"""Targets that a head cannot be trained for are refused, with the reason."""

from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import cpu_offload
from transformers import BartConfig, BartForConditionalGeneration, Gemma2Config, Gemma2ForCausalLM

from tiny_models import byte_tokenizer, tiny_llama
from training.pairs import target
from univer.training import TrainingSettings, train_eagle
from univer.training.target import check_target, weights_label


class _Renamed:
    """A tokenizer of another size."""

    def __len__(self) -> int:
        return 1000


def test_a_target_that_serves_passes() -> None:
    check_target(target(), byte_tokenizer(), (0, 1, 2))
    check_target(target(), byte_tokenizer(), (-1,))


def test_layers_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="3 layers has no hidden state 4"):
        check_target(target(), byte_tokenizer(), (0, 4))


def test_a_larger_tokenizer() -> None:
    with pytest.raises(ValueError, match="the tokenizer has 1000 tokens"):
        check_target(target(), _Renamed(), (0,))


def test_training_mode() -> None:
    with pytest.raises(ValueError, match="call its eval"):
        check_target(tiny_llama(seed=0).train(), byte_tokenizer(), (0,))


def test_a_tokenizer_or_a_model_with_other_sizes() -> None:
    model = tiny_llama(seed=0)
    model.set_output_embeddings(torch.nn.Linear(32, 300, bias=False))
    with pytest.raises(ValueError, match=r"reads 260 token ids and writes 300"):
        check_target(model, byte_tokenizer(), (0,))
    model = tiny_llama(seed=0)
    model.set_input_embeddings(torch.nn.Embedding(260, 16))
    with pytest.raises(ValueError, match="width 16, its hidden states 32"):
        check_target(model, byte_tokenizer(), (0,))


def test_capped_logits() -> None:
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "head_dim": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    config = Gemma2Config(vocab_size=300, final_logit_softcapping=0.5, initializer_range=0.5, **sizes, **heads)
    with pytest.raises(ValueError, match="capped or scaled"):
        check_target(Gemma2ForCausalLM(config).eval(), byte_tokenizer(), (0,))


def test_an_encoder_with_a_decoder() -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 1, "decoder_attention_heads": 1}
    config = BartConfig(vocab_size=300, d_model=8, encoder_ffn_dim=8, decoder_ffn_dim=8, **sizes)
    with pytest.raises(ValueError, match="decoder-only"):
        check_target(BartForConditionalGeneration(config).eval(), byte_tokenizer(), (0,))


def test_the_label_tells_weights_apart() -> None:
    assert weights_label(tiny_llama(seed=0)) == weights_label(target())
    assert weights_label(tiny_llama(seed=1)) != weights_label(target())


def test_found_13_an_offloaded_target_is_refused_before_training(tmp_path: Path) -> None:
    model = cpu_offload(tiny_llama(seed=0), execution_device=torch.device("cpu"))
    with pytest.raises(ValueError, match=r"embed_tokens\.weight of the target is offloaded"):
        train_eagle(model, byte_tokenizer(), tmp_path / "head", settings=TrainingSettings(samples=300, length=12))
    assert not (tmp_path / "head").exists()
