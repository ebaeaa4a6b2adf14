"""The head that training starts from repeats what the target's last hidden state says."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, GPTNeoXConfig, GPTNeoXForCausalLM, Qwen2Config, Qwen2ForCausalLM

from training.pairs import make_head, random_texts, target
from univer.drafting.eagle.checkpoint import save_head
from univer.training import TrainingSettings
from univer.training.initial import final_scale, head_label, loaded_head, new_config, new_head


def _others() -> dict[str, Any]:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 4}
    qwen = Qwen2Config(
        vocab_size=50, num_attention_heads=4, num_key_value_heads=2, rope_theta=5e5, tie_word_embeddings=True, **sizes
    )
    return {
        "qwen2": Qwen2ForCausalLM(qwen),
        "gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=4, n_head=2)),
        "neox": GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=50, num_attention_heads=2, **sizes)),
    }


@pytest.mark.parametrize(
    ("family", "kv_heads", "intermediate", "theta"),
    [("qwen2", 2, 24, 5e5), ("gpt2", 2, 64, 1e4), ("neox", 2, 24, 1e4)],
)
def test_sizes_follow_the_target_s(family: str, kv_heads: int, intermediate: int, theta: float) -> None:
    model = _others()[family].eval()
    config = new_config(model, TrainingSettings(draft_vocabulary=20))
    assert (config.hidden_size, config.kv_heads, config.intermediate_size) == (16, kv_heads, intermediate)
    assert (config.rope_theta, config.rope_scaling, config.attention_bias) == (theta, None, family != "gpt2")
    assert (config.vocab_size, config.draft_vocab_size, config.features) == (50, 20, (1, 2, 2))
    head = new_head(model, config, range(5, 25), seed=0)
    assert torch.equal(head.lm_head.weight, model.get_output_embeddings().weight[5:25])


def test_settings_say_otherwise() -> None:
    config = new_config(target(), TrainingSettings(variant=1))
    assert (config.variant, config.features, config.draft_vocab_size) == (1, (-1,), 260)
    config = new_config(target(), TrainingSettings(layers=(0, 3), draft_vocabulary=9))
    assert (config.variant, config.features, config.draft_vocab_size) == (3, (0, -1), 9)
    with pytest.raises(ValueError, match="draft vocabulary"):
        new_config(target(), TrainingSettings(draft_vocabulary=261))


@pytest.mark.parametrize("family", ["gpt2", "neox", "qwen2"])
def test_the_final_norm_s_factors_are_measured(family: str) -> None:
    model = _others()[family]
    base = getattr(model, model.base_model_prefix)
    norm = next(getattr(base, name) for name in ("ln_f", "final_layer_norm", "norm") if hasattr(base, name))
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_(1.0)
    torch.testing.assert_close(final_scale(model), norm.weight.detach(), rtol=1e-4, atol=1e-4)


def test_the_last_feature_passes_and_the_layer_adds_little() -> None:
    head = make_head(TrainingSettings(), random_texts([20]))
    features = torch.randn(1, 6, 3 * 32)
    torch.testing.assert_close(head.fuse(features), features[..., 64:], rtol=0, atol=0.5)
    torch.testing.assert_close(head.norm.weight, target().model.norm.weight)


def test_the_seed_repeats_it_and_the_program_s_randomness_is_left_alone() -> None:
    texts = random_texts([20])
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (make_head(TrainingSettings(seed=seed), texts) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first.fc.weight, again.fc.weight)
    assert not torch.equal(first.fc.weight, other.fc.weight)


def test_a_head_to_start_from(tmp_path: Path) -> None:
    head = make_head(TrainingSettings(draft_vocabulary=30), random_texts([20]))
    save_head(head, tmp_path / "head")
    loaded = loaded_head(tmp_path / "head", target(), TrainingSettings(draft_vocabulary=30))
    assert all(torch.equal(value, head.state_dict()[name]) for name, value in loaded.state_dict().items())
    assert all(parameter.requires_grad for parameter in loaded.parameters())
    for changes, message in (
        ({"variant": 1}, "variant cannot be 1: the head to start from has 3"),
        ({"draft_vocabulary": 31}, "draft_vocabulary cannot be 31"),
        ({"layers": (0, 1, 3)}, "layers cannot be"),
    ):
        with pytest.raises(ValueError, match=message):
            loaded_head(tmp_path / "head", target(), TrainingSettings(**changes))  # type: ignore[arg-type]
    label = head_label(tmp_path / "head")
    with torch.no_grad():
        head.norm.weight.add_(1)
    save_head(head, tmp_path / "head")
    assert label.startswith("head (")
    assert head_label(tmp_path / "head") != label
    with pytest.raises(ValueError, match="no weights"):
        head_label(tmp_path)
