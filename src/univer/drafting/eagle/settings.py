"""The `config.json` of EAGLE checkpoints: from it to the settings of a head, and back."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from univer.drafting.eagle.config import LAST, SIZES, EagleConfig, middle_layers, rope_settings, rope_tables
from univer.drafting.eagle.formats import LAYER

# Public names of fields of `EagleConfig`, where they differ, and the fields that are written beside the sizes.
PUBLIC = {
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "max_positions": "max_position_embeddings",
}
WRITTEN = ("rms_norm_eps", "rope_theta", "rope_scaling", "attention_bias", "max_positions")
# Settings of which one value is supported.
FIXED: dict[str, Any] = {
    "hidden_act": "silu",
    "mlp_bias": False,
    "layernorms": False,
    "num_hidden_layers": 1,
    "fc_norm": False,
    "use_fc_norm": False,
    "norm_after_fc": False,
    "use_mtp_layernorm": False,
    "next_layer_regular": True,
    "parallel_draft_step": 1,
    "eh_proj_before_attn": False,
    "rope_interleaved": False,
    "partial_rotary_factor": 1,
    "embedding_multiplier": 1,
    "residual_multiplier": 1,
    "attn_logit_softcapping": None,
    "clip_qkv": None,
}
# Settings that have to be true for EAGLE-3 and false for EAGLE and EAGLE-2.
EAGLE3_ONLY = ("use_aux_hidden_state", "use_input_layernorm_in_first_layer", "use_last_layernorm")
# Scaling of an output layer, of which one value is supported for EAGLE-3; heads of EAGLE have that of the target.
OUTPUT_SCALING = {"logit_scale": 1, "logits_scaling": 1, "lm_head_multiplier": 1, "final_logit_softcapping": None}
LAYER_IDS = "eagle_aux_hidden_state_layer_ids"
OTHER_LAYER_IDS = re.compile(r".*(layers?_ids?|layer_ind(ex|ices)|aux_layers?|layers_to_capture|capture_layers).*")
# Further settings that are known: they are read below, follow from the tensors, or matter in training only.
HARMLESS = re.compile(
    r"(target_)?hidden_size|eagle_hidden_state_dim|num_(attention|key_value)_heads|head_(dim|type)|rms_norm_eps"
    r"|norm_before_(residual|fc)|norm_output|return_hidden_post_norm|has_lm_head|has_own_embed_tokens"
    r"|load_(embedding|lm_head)_from_target|rope_(theta|scaling|parameters)|(attention|qkv|fusion)_bias"
    r"|(use_)?sliding_window|max_window_layers|layer_types|query_pre_attn_scalar|attention_multiplier"
    r"|max_position_embeddings|tie_word_embeddings|num_aux_hidden_states|embed_requires_grad|transformer_layer_config"
    r"|(attention|hidden)_dropout(_prob)?|(attn|embd|resid)_pdrop|attn_implementation|output_(hidden_states|attentions)"
    r"|add_cross_attention|cross_attention_hidden_size|pruned_heads|(target_num_hidden|num_nextn_predict)_layers"
)
# Names of settings that suggest that they change what a head computes.
SUGGESTIVE = re.compile(
    r"[^_].*(norm|rope|rotary|scal|multiplier|softcap|window|bias|attn|attention|residual|logit|hidden|embed|layer|head"
    r"|activation).*|(norm|rope|rotary|scal|residual|logit|hidden|embed|layer|head|activation|fc).*|.+_fc(_.*)?"
)


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
        ValueError: a setting is missing, not supported, or contradicts the tensors.
    """
    try:
        config = _read(settings, tensors, layers)
    except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{where}, config.json: {error}") from error
    _warn_of_unknown(where, _flat(settings))
    return config


def _read(settings: Mapping[str, Any], tensors: Mapping[str, Tensor], layers: int | None) -> EagleConfig:
    flat = _flat(settings)
    _require(flat, ("hidden_size", "num_attention_heads", "intermediate_size"))
    width, heads = int(flat["hidden_size"]), int(flat["num_attention_heads"])
    head_dim = int(flat.get("head_dim", width // heads))
    variant = 3 if LAYER + "hidden_norm.weight" in tensors else 1
    _check_supported(flat, variant, head_dim)
    _require(tensors, ("fc.weight", LAYER + "self_attn.q_proj.weight"))
    _check_consistent(flat, tensors)
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
        head_dim=head_dim,
        intermediate_size=int(flat["intermediate_size"]),
        vocab_size=vocab_size,
        draft_vocab_size=draft_vocab_size,
        features=(LAST,) if variant == 1 else _features(settings, tensors, target_width, layers),
        rms_norm_eps=float(flat.get("rms_norm_eps", 1e-6)),
        rope_theta=theta,
        rope_scaling=scaling,
        attention_bias=LAYER + "self_attn.q_proj.bias" in tensors,
        output_bias=LAYER + "self_attn.o_proj.bias" in tensors,
        fc_bias="fc.bias" in tensors,
        norm_before_residual=bool(flat.get("norm_before_residual", False)),
        norm_before_fc="input_norm.weight" in tensors,
        norm_output=bool(flat.get("norm_output", flat.get("return_hidden_post_norm", False))),
        own_embeddings="embed_tokens.weight" in tensors,
        target_output=variant == 3 and "lm_head.weight" not in tensors,
        max_positions=flat.get("max_position_embeddings"),
    )


def write_config(config: EagleConfig) -> dict[str, Any]:
    """The `config.json` of a head, in the public EAGLE-3 naming."""
    kind = "LlamaForCausalLMEagle3" if config.variant == 3 else "LlamaForCausalLMEagle"
    settings = {"architectures": [kind], "model_type": "llama", "num_hidden_layers": 1, "hidden_act": "silu"}
    settings |= {PUBLIC.get(name, name): getattr(config, name) for name in (*SIZES, *WRITTEN)}
    settings["tie_word_embeddings"] = False
    if config.variant == 3:
        settings[LAYER_IDS] = list(config.features)
        settings |= {name: getattr(config, name) for name in ("norm_before_residual", "norm_before_fc", "norm_output")}
        settings["has_lm_head"] = not config.target_output
    return settings


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that stand at the top, in `eagle_config` or in `transformer_layer_config`, the outer ones first."""
    flat: dict[str, Any] = {}
    for table in (settings.get("transformer_layer_config"), settings.get("eagle_config"), settings):
        flat |= {name: value for name, value in (table or {}).items() if value is not None}
    return flat


def _require(found: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if name not in found:
            raise ValueError(f"this is no EAGLE head: it has no {name}")


def _check_supported(flat: Mapping[str, Any], variant: int, head_dim: int) -> None:
    """Raise an error for settings that change what a head computes and are not supported."""
    kind = "EAGLE-3" if variant == 3 else "EAGLE"
    needed = FIXED | dict.fromkeys(EAGLE3_ONLY, variant == 3) | {"query_pre_attn_scalar": head_dim}
    if variant == 3:
        needed |= OUTPUT_SCALING
    for name, value in needed.items():
        if flat.get(name, value) != value:
            raise ValueError(f"{name}={flat[name]!r} is not supported in a head of {kind}, only {value!r}")
    scale = float(flat.get("attention_multiplier", head_dim**-0.5))
    if abs(scale * head_dim**0.5 - 1) > 1e-3:
        raise ValueError(f"attention_multiplier={scale} is not supported, only 1 / sqrt(head_dim)")
    for table in rope_tables(flat):
        if table.get("partial_rotary_factor", 1) not in (1, None):
            raise ValueError(f"partial_rotary_factor={table['partial_rotary_factor']} is not supported, only 1")
    window, kinds = flat.get("sliding_window"), flat.get("layer_types")
    # Qwen models use a window only with this flag, and only from layer `max_window_layers` on.
    used = flat.get("use_sliding_window", not str(flat.get("model_type")).startswith("qwen"))
    if kinds and kinds[0] != "full_attention":
        raise ValueError(f"layer_types={kinds} is not supported, only 'full_attention'")
    reaches = not window or window >= (flat.get("max_position_embeddings") or float("inf"))
    if used and not (kinds or reaches or flat.get("max_window_layers")):
        raise ValueError(f"sliding_window={window} is not supported: the head attends to the whole text")


def _check_consistent(flat: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Raise an error for settings that contradict the tensors or each other."""
    for name, tensor in (("norm_before_fc", "input_norm.weight"), ("has_lm_head", "lm_head.weight")):
        if bool(flat.get(name, tensor in tensors)) != (tensor in tensors):
            holds = "holds" if tensor in tensors else "lacks"
            raise ValueError(f"{name}={flat[name]!r}, but the checkpoint {holds} the tensor {tensor!r}")
    output = flat.get("norm_output")
    if bool(flat.get("return_hidden_post_norm", output)) != bool(output) and output is not None:
        raise ValueError("norm_output and return_hidden_post_norm contradict each other")


def _warn_of_unknown(where: str, flat: Mapping[str, Any]) -> None:
    """Warn of settings that are not known and whose names suggest that they change what the head computes."""
    followed = {*FIXED, *OUTPUT_SCALING, *EAGLE3_ONLY, LAYER_IDS}
    unknown = [name for name, value in flat.items() if SUGGESTIVE.fullmatch(name) and value not in ({}, [], "")]
    unknown = [name for name in unknown if name not in followed and not HARMLESS.fullmatch(name)]
    if unknown:
        warnings.warn(
            f"{where}, config.json: settings that are not known are not followed: {', '.join(sorted(unknown))}; if one "
            "of them changes what the head computes, fewer of its tokens are accepted",
            stacklevel=3,
        )


def _features(
    settings: Mapping[str, Any], tensors: Mapping[str, Tensor], target_width: int, layers: int | None
) -> tuple[int, ...]:
    """The layers whose inputs an EAGLE-3 head reads."""
    read = tensors["fc.weight"].shape[1]
    count, rest = divmod(read, target_width)
    if rest or not count:
        raise ValueError(f"fc.weight reads {read} numbers, no multiple of the target's width {target_width}")
    tables = {"": settings} | {f"{name}.": value for name, value in settings.items() if isinstance(value, Mapping)}
    named: dict[str, tuple[int, ...]] = {}
    for prefix, table in tables.items():
        for key, value in table.items():
            if key == LAYER_IDS and prefix in ("", "eagle_config.") and value:
                named[prefix + key] = _layer_inputs(value) if prefix else tuple(map(int, value))
            elif OTHER_LAYER_IDS.fullmatch(key) and value:
                raise ValueError(
                    f"{prefix}{key}={value} is not read, as it is not clear which layers it means: name the layers "
                    f"whose inputs the head reads by {LAYER_IDS}, -1 for the state after the final norm"
                )
    if len(set(named.values())) > 1:
        raise ValueError(" and ".join(f"{key} (inputs of {list(ids)})" for key, ids in named.items()) + " differ")
    if named:
        key, features = named.popitem()
    elif layers is not None and count == 3:
        key, features = LAYER_IDS, middle_layers(layers)
    else:
        raise ValueError(f"{LAYER_IDS} does not name the {count} target layers that the head reads")
    if len(features) != count:
        raise ValueError(f"fc.weight joins {count} hidden states, but {len(features)} layers are named by {key}")
    beyond = [layer for layer in features if layer < LAST or (layers is not None and layer >= layers)]
    if beyond:
        raise ValueError(
            f"{key} means the input of layer {beyond[0]}, but the target's layers go from 0 to "
            f"{'its last' if layers is None else layers - 1}; -1 is the state after the final norm"
        )
    return features


def _layer_inputs(ids: Sequence[int]) -> tuple[int, ...]:
    """The layers whose inputs are the layer outputs that the ids in `eagle_config` name.

    SpecForge and ModelOpt, which write this table, count outputs of layers, and SGLang, which reads it, adds 1. Only
    2, N / 2 and N - 3, the default in inputs of layers, are not changed.
    """
    found = tuple(map(int, ids))
    if any(layer < 0 for layer in found):
        raise ValueError(f"eagle_config.{LAYER_IDS}={list(ids)} names a layer below 0")
    return found if found == middle_layers(found[-1] + 3) else tuple(layer + 1 for layer in found)
