"""The `config.json` of EAGLE checkpoints: from it to the settings of a head, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from univer.drafting.eagle.config import LAST, EagleConfig, middle_layers, rope_settings
from univer.drafting.eagle.formats import LAYER


def read_config(
    where: str, settings: Mapping[str, Any], tensors: Mapping[str, Tensor], layers: int | None
) -> EagleConfig:
    """The sizes and settings of a checkpoint.

    Args:
        where: the checkpoint, for messages.
        settings: its `config.json`.
        tensors: its tensors under canonical names.
        layers: number of layers of the target, from which the layers that an EAGLE-3 head reads follow where the
            checkpoint does not name them.

    Raises:
        ValueError: a setting is missing or not supported.
    """
    flat = _flat(settings)
    for name, needed in {"hidden_act": "silu", "mlp_bias": False, "layernorms": False, "num_hidden_layers": 1}.items():
        if flat.get(name, needed) != needed:
            raise ValueError(f"{where}: {name}={flat[name]!r} is not supported in an EAGLE head, only {needed!r}")
    missing = [name for name in ("hidden_size", "num_attention_heads", "intermediate_size") if name not in flat]
    missing += [name for name in ("fc.weight", LAYER + "self_attn.q_proj.weight") if name not in tensors]
    if missing:
        raise ValueError(f"{where} is no EAGLE head: it has no {missing[0]}")
    width, heads = int(flat["hidden_size"]), int(flat["num_attention_heads"])
    variant = 3 if LAYER + "hidden_norm.weight" in tensors else 1
    target_width = int(flat.get("target_hidden_size", width))
    draft_ids, in_draft = tensors.get("d2t"), tensors.get("t2d")
    vocab_size = int(flat.get("vocab_size", 0) if in_draft is None else len(in_draft))
    draft_vocab_size = len(draft_ids) if draft_ids is not None else vocab_size
    if variant == 3 and "lm_head.weight" in tensors:
        draft_vocab_size = len(tensors["lm_head.weight"])
    theta, scaling = rope_settings(flat)
    return EagleConfig(
        variant=variant,
        hidden_size=width,
        target_hidden_size=target_width,
        heads=heads,
        kv_heads=int(flat.get("num_key_value_heads", heads)),
        head_dim=int(flat.get("head_dim", width // heads)),
        intermediate_size=int(flat["intermediate_size"]),
        vocab_size=vocab_size,
        draft_vocab_size=draft_vocab_size,
        features=(LAST,) if variant == 1 else _features(where, flat, tensors, target_width, layers),
        rms_norm_eps=float(flat.get("rms_norm_eps", 1e-6)),
        rope_theta=theta,
        rope_scaling=scaling,
        attention_bias=LAYER + "self_attn.q_proj.bias" in tensors,
        output_bias=LAYER + "self_attn.o_proj.bias" in tensors,
        fc_bias="fc.bias" in tensors,
        norm_before_residual=bool(flat.get("norm_before_residual", False)),
        norm_before_fc="input_norm.weight" in tensors,
        norm_output=bool(flat.get("norm_output", False)),
        own_embeddings="embed_tokens.weight" in tensors,
        max_positions=flat.get("max_position_embeddings"),
    )


def write_config(config: EagleConfig) -> dict[str, Any]:
    """The `config.json` of a head, in the public EAGLE-3 naming."""
    settings: dict[str, Any] = {
        "architectures": ["LlamaForCausalLMEagle3" if config.variant == 3 else "LlamaForCausalLMEagle"],
        "model_type": "llama",
        "num_hidden_layers": 1,
        "hidden_act": "silu",
        "hidden_size": config.hidden_size,
        "target_hidden_size": config.target_hidden_size,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "intermediate_size": config.intermediate_size,
        "vocab_size": config.vocab_size,
        "draft_vocab_size": config.draft_vocab_size,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "rope_scaling": dict(config.rope_scaling) if config.rope_scaling else None,
        "attention_bias": config.attention_bias,
        "max_position_embeddings": config.max_positions,
        "tie_word_embeddings": False,
    }
    if config.variant == 3:
        settings["eagle_aux_hidden_state_layer_ids"] = list(config.features)
        settings["norm_before_residual"] = config.norm_before_residual
        settings["norm_before_fc"] = config.norm_before_fc
        settings["norm_output"] = config.norm_output
    return settings


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that stand at the top, in `eagle_config` or in `transformer_layer_config`, the outer ones first."""
    flat: dict[str, Any] = {}
    for table in (settings.get("transformer_layer_config"), settings.get("eagle_config"), settings):
        flat |= {name: value for name, value in (table or {}).items() if value is not None}
    return flat


def _features(
    where: str, flat: Mapping[str, Any], tensors: Mapping[str, Tensor], target_width: int, layers: int | None
) -> tuple[int, ...]:
    count, rest = divmod(tensors["fc.weight"].shape[1], target_width)
    if rest or not count:
        raise ValueError(
            f"{where}: fc.weight reads {tensors['fc.weight'].shape[1]} numbers, which is no multiple of the target's "
            f"width {target_width}"
        )
    named = flat.get("eagle_aux_hidden_state_layer_ids")
    if named:
        features = tuple(int(layer) for layer in named)
    elif layers is not None and count == 3:
        features = middle_layers(layers)
    else:
        raise ValueError(f"{where} does not name the {count} target layers that it reads")
    if len(features) != count:
        raise ValueError(f"{where}: fc.weight joins {count} hidden states, but {len(features)} layers are named")
    return features
