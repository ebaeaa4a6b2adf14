"""The head that training starts from: a new one, or one that exists."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from univer.drafting.eagle.checkpoint import load_head
from univer.drafting.eagle.config import LAST, EagleConfig, config_for_target
from univer.drafting.eagle.head import EagleHead
from univer.drafting.eagle.target import output_weight, token_embeddings
from univer.drafting.eagle.weights import weight_files
from univer.runtime.features import decoder_layers
from univer.training.settings import DRAFT_VOCABULARY, VARIANT, TrainingSettings

# Standard deviation of the first weights beside the identity, and factor of the first weights of the two projections
# into the residual stream.
NOISE, DAMPING = 0.005, 0.3
# Names of the final norm in the architectures of transformers.
FINAL_NORMS = ("norm", "final_layer_norm", "final_layernorm", "ln_f")


def new_config(target: Any, settings: TrainingSettings) -> EagleConfig:
    """Sizes of a new head.

    Args:
        target: the target.
        settings: variant, draft vocabulary and layers are read.

    Raises:
        ValueError: the sizes do not fit each other.
    """
    wanted = settings.draft_vocabulary or min(DRAFT_VOCABULARY, len(token_embeddings(target)))
    layers = _layers(target, settings)
    chosen = {} if layers is None else {"features": layers}
    return config_for_target(target, settings.variant or VARIANT, wanted, **chosen)


def _layers(target: Any, settings: TrainingSettings) -> tuple[int, ...] | None:
    """The layers that the settings name, with -1 for the number of layers: both are the state after the final norm."""
    if settings.layers is None:
        return None
    count = len(decoder_layers(target)[2])
    return tuple(LAST if layer == count else layer for layer in settings.layers)


def new_head(target: Any, config: EagleConfig, tokens: Sequence[int], seed: int) -> EagleHead:
    """A head whose first predictions are those of the target's last hidden state.

    The layer that joins the inputs is the identity on the last one plus noise, and the projections into the residual
    stream are small; the output layer and the norm before it are the target's.

    Args:
        target: the target.
        config: sizes of the head.
        tokens: ids of the draft vocabulary.
        seed: seed of the first weights.

    Returns:
        The head, in float32 on the CPU.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        head = EagleHead(config)
        if config.reduced:
            head.set_vocabulary(tokens)
        width = config.hidden_size
        if config.variant == 1 or config.target_hidden_size == width:
            head.fc.weight.copy_(torch.randn_like(head.fc.weight) * NOISE)
            head.fc.weight[:, -width:] += torch.eye(width)
        for layer in (head.o_proj, head.down_proj):
            layer.weight.mul_(DAMPING)
        if config.variant == 3:
            ids, output = head.token_ids, output_weight(target)
            head.lm_head.weight.copy_(output if ids is None else output[ids.to(output.device)])
            head.norm.weight.copy_(final_scale(target))
    return head


def final_scale(target: Any) -> Tensor:
    """The factors `[H]` of the target's final norm, or ones if it is not found.

    They are measured, as some architectures store them reduced by 1 or have a bias as well.
    """
    base, width = decoder_layers(target)[0], target.config.get_text_config().hidden_size
    norm = next((getattr(base, name) for name in FINAL_NORMS if hasattr(base, name)), None)
    if norm is None:
        return torch.ones(width)
    # Mean 0 and mean square 1, so that neither an RMS norm nor a layer norm rescales it.
    signs = torch.ones(width, device=target.device, dtype=target.dtype)
    signs[1::2] = -1
    with torch.inference_mode():
        scale: Tensor = (norm(signs) - norm(-signs)).float() / 2 * signs
    return scale


def loaded_head(directory: str | Path, target: Any, settings: TrainingSettings) -> EagleHead:
    """A head from a directory, to train it further.

    Args:
        directory: see `load_head`.
        target: the target.
        settings: `variant`, `draft_vocabulary` and `layers` have to be those of the head, or None.

    Returns:
        The head, in float32 on the CPU.

    Raises:
        ValueError: there is no head, or a setting contradicts it.
    """
    table, output = (weight.detach().cpu() for weight in (token_embeddings(target), output_weight(target)))
    head = load_head(directory, len(decoder_layers(target)[2]), table, torch.float32, output)
    config = head.config
    for name, wanted, value in (
        ("variant", settings.variant, config.variant),
        ("draft_vocabulary", settings.draft_vocabulary, config.draft_vocab_size),
        ("layers", _layers(target, settings), config.features),
    ):
        if wanted not in (None, value):
            raise ValueError(f"{name} cannot be {wanted}: the head to start from has {value}")
    return head.requires_grad_(True)


def head_label(directory: str | Path) -> str:
    """Name of a head's directory with the start of the SHA-256 of its weights.

    Raises:
        ValueError: it holds no weights.
    """
    path = Path(directory).expanduser()
    digest = hashlib.sha256()
    for file in weight_files(path):
        digest.update(file.read_bytes())
    return f"{path.name} ({digest.hexdigest()[:12]})"
