"""Loading and saving EAGLE heads, in the public checkpoint formats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from univer.drafting.eagle.formats import canonical_names, check_kind, from_state, to_state
from univer.drafting.eagle.head import EagleHead
from univer.drafting.eagle.settings import read_config, write_config
from univer.drafting.eagle.weights import read_tensors
from univer.files import write_json


def load_head(
    directory: str | Path,
    layers: int | None = None,
    embeddings: Tensor | None = None,
    dtype: torch.dtype | None = None,
    output: Tensor | None = None,
) -> EagleHead:
    """Load an EAGLE head.

    Supported are the checkpoints of EAGLE and EAGLE-2 (`fc`, `layers.0.*`), those of EAGLE-3 (`fc`, `midlayer.*`,
    `norm`, `lm_head`, `d2t`, `t2d`), and the layout of both in the `speculators` library. Pickles may hold plain
    tensors only.

    Args:
        directory: holds `config.json` and `model.safetensors` or `pytorch_model.bin`, or their parts.
        layers: number of layers of the target, needed where an EAGLE-3 checkpoint does not name those that it reads.
        embeddings: the target's token embeddings `[V, H]`: a copy of them in the checkpoint is dropped.
        dtype: dtype of the weights; by default as stored.
        output: the target's output layer `[V, H]`: a copy of it in a head of EAGLE or EAGLE-2 is dropped.

    Returns:
        The head, on the CPU, in evaluation mode.

    Raises:
        ValueError: the checkpoint is of another kind, damaged, or has settings that are not supported or contradict
            its tensors.
    """
    path = Path(directory).expanduser()
    where = f"the head {path.name!r}"
    settings = read_settings(path)
    check_kind(where, settings, [])
    tensors = read_tensors(path)
    check_kind(where, settings, tensors)
    tensors = canonical_names(tensors)
    if _is_copy(tensors.get("embed_tokens.weight"), embeddings):
        del tensors["embed_tokens.weight"]
    config = read_config(where, settings, tensors, layers)
    if config.variant == 1 and _is_copy(tensors.get("lm_head.weight"), output):
        del tensors["lm_head.weight"]
    with torch.device("meta"):
        head = EagleHead(config)
    state = to_state(where, head, tensors)
    kinds = {tensor.dtype for tensor in state.values() if tensor.is_floating_point()}
    head.load_state_dict(state, assign=True)
    return head.to(dtype or max(kinds, key=lambda kind: torch.finfo(kind).bits)).eval()


def _is_copy(tensor: Tensor | None, original: Tensor | None) -> bool:
    """Whether a tensor holds the target's weights, perhaps rounded to another precision."""
    if tensor is None or original is None or tensor.shape != original.shape:
        return False
    coarse = max(torch.finfo(kind).eps for kind in (tensor.dtype, original.dtype))
    return torch.allclose(tensor.to(original), original, rtol=coarse, atol=0)


def save_head(head: EagleHead, directory: str | Path, notes: Mapping[str, Any] | None = None) -> None:
    """Save a head as `config.json` and `model.safetensors`, with the public names.

    Args:
        head: the head; its weights are stored in their dtype.
        directory: the directory, created if it does not exist.
        notes: further entries of `config.json`, such as `target_note`.
    """
    from safetensors.torch import save_file

    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    save_file(from_state(head), path / "model.safetensors", {"format": "pt"})
    settings = write_config(head.config) | {"torch_dtype": str(head.fc.weight.dtype).removeprefix("torch.")}
    write_json(path / "config.json", settings | dict(notes or {}))


def read_settings(directory: Path) -> dict[str, Any]:
    """The `config.json` of a directory.

    Raises:
        ValueError: there is none, or it is no JSON object.
    """
    path = directory / "config.json"
    if not path.is_file():
        raise ValueError(f"{directory} holds no EAGLE head: it has no config.json")
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise ValueError(f"{path} is not a JSON object")
    return settings


def is_head(directory: str | Path) -> bool:
    """Whether a directory holds a head that reads a target's hidden states, EAGLE's or another, and not a model.

    The settings decide or, if they could be those of a model with one layer, as in checkpoints of EAGLE and EAGLE-2,
    the names of the tensors.
    """
    path = Path(directory).expanduser()
    try:
        settings = read_settings(path)
        kinds = " ".join(map(str, settings.get("architectures") or [])).lower()
        if any(name in settings for name in ("speculators_model_type", "draft_vocab_size", "medusa_num_heads")):
            return True
        if any(word in kinds for word in ("eagle", "medusa", "mtp", "nextn")):
            return True
        if settings.get("num_hidden_layers", 1) != 1:
            return False
        return "fc.weight" in canonical_names(read_tensors(path))
    except (OSError, ValueError):
        return False
