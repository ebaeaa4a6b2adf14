"""Names of the tensors in public EAGLE checkpoints, and recognition of other kinds of heads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from univer.drafting.eagle.config import EagleConfig
from univer.drafting.eagle.head import EagleHead

# Parts of a head in the public names. The decoder layer is `layers.0` in EAGLE checkpoints and in the `speculators`
# layout of EAGLE-3, `midlayer` in those of EAGLE-3 itself and `transformer` in the `speculators` layout of EAGLE.
LAYER = "layers.0."
LAYER_SPELLINGS = ("midlayer.", "transformer.")
# Modules of an `EagleHead`, each with the public ones whose rows it holds.
MODULES = {
    "fc": ("fc",),
    "qkv": [f"{LAYER}self_attn.{part}_proj" for part in "qkv"],
    "gate_up": [LAYER + "mlp.gate_proj", LAYER + "mlp.up_proj"],
    "o_proj": (LAYER + "self_attn.o_proj",),
    "down_proj": (LAYER + "mlp.down_proj",),
    "post_attention_norm": (LAYER + "post_attention_layernorm",),
    "input_norm": (LAYER + "input_layernorm",),
    "hidden_norm": (LAYER + "hidden_norm",),
    "norm": ("norm",),
    "lm_head": ("lm_head",),
    "feature_norm": ("input_norm",),
    "embed_tokens": ("embed_tokens",),
}
# The tables of a reduced draft vocabulary, under the same names in an `EagleHead` and in checkpoints.
TABLES = ("d2t", "t2d")
# Buffers that older versions saved, and copies of the target's layers that are not needed.
IGNORED = re.compile(r".*rotary_emb\.inv_freq|verifier_norm\..*|verifier_lm_head\..*")
MULTI_TOKEN = re.compile(r"(.*\.)?(mtp|nextn|mtp_layers|mtp_block)\..*|.*\.(eh_proj|enorm|hnorm)\.weight")
MEDUSA = re.compile(r"(.*\.)?medusa_heads?\..*")


def check_kind(where: str, settings: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise an error for a checkpoint of another kind of head.

    Args:
        where: the checkpoint, for the message.
        settings: its `config.json`.
        names: names of its tensors.

    Raises:
        ValueError: it is a Medusa or multi-token-prediction head, or another kind of the `speculators` layout.
    """
    kinds = " ".join(map(str, [settings.get("model_type", ""), *(settings.get("architectures") or [])])).lower()
    names = list(names)
    layout = settings.get("speculators_model_type")
    if "medusa" in kinds or "medusa_num_heads" in settings or any(MEDUSA.fullmatch(name) for name in names):
        raise ValueError(f"{where} is a Medusa checkpoint; Medusa heads are not supported, use an EAGLE head")
    if "mtp" in kinds or "nextn" in kinds or any(MULTI_TOKEN.fullmatch(name) for name in names):
        raise ValueError(
            f"{where} is a multi-token-prediction checkpoint; such heads are not supported, use an EAGLE head"
        )
    if layout is not None and layout not in ("eagle", "eagle3"):
        raise ValueError(f"{where} is a speculators checkpoint of type {layout!r}; known are 'eagle' and 'eagle3'")


def canonical_names(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors under the names of EAGLE-1 checkpoints, with `layers.0` for the decoder layer."""
    renamed = {}
    for name, tensor in tensors.items():
        short = name.removeprefix("model.")
        for spelling in LAYER_SPELLINGS:
            if short.startswith(spelling):
                short = LAYER + short.removeprefix(spelling)
        if short.startswith("fusion_fc."):
            short = short.removeprefix("fusion_")
        if not IGNORED.fullmatch(short):
            renamed[short] = tensor
    return renamed


def to_state(where: str, head: EagleHead, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of a head from tensors under canonical names.

    Args:
        where: the checkpoint, for messages.
        head: a head of the checkpoint's sizes, perhaps on the device `meta`.
        tensors: the tensors of the checkpoint.

    Raises:
        ValueError: a tensor is missing, unknown, or does not have the shape that the settings give.
    """
    wanted = {name: tensor for name, tensor in canonical_tensors(head).items() if name not in TABLES}
    unknown = sorted(tensors.keys() - wanted.keys() - {*TABLES})
    missing = sorted(wanted.keys() - tensors.keys())
    if "lm_head.weight" in unknown:
        raise ValueError(
            f"{where} holds the tensor 'lm_head.weight', but a head of EAGLE or EAGLE-2 has no output layer; only a "
            "copy of the target's is dropped"
        )
    if unknown:
        raise ValueError(
            f"{where} holds the tensor {unknown[0]!r}, which is not part of any supported kind of EAGLE head"
        )
    if missing:
        raise ValueError(f"{where} lacks the tensor {missing[0]!r}")
    for name, tensor in wanted.items():
        if tensors[name].shape != tensor.shape:
            raise ValueError(
                f"{where}: the tensor {name!r} is {list(tensors[name].shape)}, its settings say {list(tensor.shape)}"
            )
    found = {**tensors, **_vocabulary(where, head.config, tensors.get("d2t"))}
    parts = {parameter: [found[name] for name in _names(parameter)] for parameter in head.state_dict()}
    return _by_token({name: torch.cat(rows) if len(rows) > 1 else rows[0] for name, rows in parts.items()})


def from_state(head: EagleHead) -> dict[str, Tensor]:
    """The tensors of a head under the public names, `midlayer` for EAGLE-3."""
    tensors = canonical_tensors(head)
    if head.config.variant == 3:
        tensors = {name.replace(LAYER, "midlayer."): tensor for name, tensor in tensors.items()}
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def canonical_tensors(head: EagleHead) -> dict[str, Tensor]:
    """The tensors of a head under canonical names."""
    keys = head.config.kv_heads * head.config.head_dim
    tensors: dict[str, Tensor] = {}
    for parameter, tensor in head.state_dict().items():
        names = _names(parameter)
        sizes = [len(tensor) - 2 * keys, keys, keys] if parameter.startswith("qkv.") else len(tensor) // len(names)
        tensors |= zip(names, torch.split(tensor, sizes), strict=True)
    return tensors


def _names(parameter: str) -> list[str]:
    """Canonical names of the tensors that a parameter or a buffer of an `EagleHead` holds."""
    module, _, kind = parameter.rpartition(".")
    return [f"{part}.{kind}" for part in MODULES[module]] if module else [parameter]


def _by_token(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same head with its draft tokens, and the rows that score them, in the order of the target's ids."""
    if "d2t" not in state:
        return state
    places = torch.arange(len(state["d2t"]))
    ids, order = (state["d2t"] + places).sort()
    if torch.equal(order, places):
        return state
    scores = {"lm_head.weight": state["lm_head.weight"][order]} if "lm_head.weight" in state else {}
    return state | scores | {"d2t": ids - places}


def _vocabulary(where: str, config: EagleConfig, offsets: Tensor | None) -> dict[str, Tensor]:
    """The tables of a reduced draft vocabulary; none for a full one."""
    if offsets is None:
        if config.reduced:
            raise ValueError(f"{where} has a reduced draft vocabulary, but no d2t that says which tokens it holds")
        return {}
    ids = offsets.long() + torch.arange(len(offsets))
    if len(ids) != config.draft_vocab_size or len(set(ids.tolist())) != len(ids):
        raise ValueError(f"{where}: d2t does not name {config.draft_vocab_size} different tokens")
    if int(ids.min()) < 0 or int(ids.max()) >= config.vocab_size:
        raise ValueError(f"{where}: d2t names tokens outside the vocabulary of {config.vocab_size}")
    if not config.reduced:
        if bool(offsets.any()):
            raise ValueError(f"{where}: d2t of a full vocabulary is not all zero")
        return {}
    in_draft = torch.zeros(config.vocab_size, dtype=torch.bool)
    in_draft[ids] = True
    return {"d2t": offsets.long(), "t2d": in_draft}
