"""Whether a head can be trained for a target, checked before any work."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch

from univer.runtime.features import FeatureTap, decoder_layers

# The largest difference between the model's logits and those computed from its last hidden state, relative to their
# spread, that rounding in the model's precision explains.
TOLERANCE = 0.02


def check_target(model: Any, tokenizer: Any, layers: Sequence[int]) -> None:
    """Make sure that a model shows what a head needs: hidden states, an output layer on the last one, one vocabulary.

    Args:
        model: a causal language model of transformers.
        tokenizer: its tokenizer.
        layers: hidden states that the head is to read.

    Raises:
        ValueError: with what is missing.
    """
    name, config = type(model).__name__, model.config.get_text_config()
    if getattr(model.config, "is_encoder_decoder", False):
        raise ValueError(f"a {name} is an encoder and a decoder: a head is trained for decoder-only models")
    if model.training:
        raise ValueError(f"this {name} is in training mode, which changes its laws: call its eval() first")
    try:
        decoder_layers(model)
    except ValueError as error:
        raise ValueError(f"the layers of a {name} were not found, so a head cannot read their inputs") from error
    table, output = model.get_input_embeddings().weight, model.get_output_embeddings()
    if output is None:
        raise ValueError(f"a {name} has no output layer: a head learns from its laws")
    if table.shape[1] != config.hidden_size:
        raise ValueError(
            f"the token embeddings of this {name} have width {table.shape[1]}, its hidden states {config.hidden_size}: "
            "a head needs the same width"
        )
    if len(output.weight) != len(table):
        raise ValueError(f"this {name} reads {len(table)} token ids and writes {len(output.weight)}: not supported")
    if len(tokenizer) > len(table):
        raise ValueError(f"the tokenizer has {len(tokenizer)} tokens, the {name} {len(table)}: they do not fit")
    tap = FeatureTap(model, (*layers, -1))
    tokens = (torch.arange(16)[None] % len(table)).to(model.device)
    with torch.inference_mode(), tap.open():
        logits = model(input_ids=tokens, use_cache=False).logits[0]
        computed = output(tap.take()[0, :, -config.hidden_size :])
    gap = (logits.float() - computed.float()).abs().max()
    if not bool(gap <= TOLERANCE * logits.float().std()):
        raise ValueError(
            f"the logits of a {name} are not its output layer applied to its last hidden state (they are capped or "
            "scaled): a head cannot be trained for it"
        )


def weights_label(model: Any) -> str:
    """A short text that tells models apart by the first numbers of every parameter."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        digest.update(f"{name} {tuple(parameter.shape)} {parameter.dtype}".encode())
        digest.update(parameter.detach().flatten()[:64].to("cpu", torch.float32).numpy().tobytes())
    return digest.hexdigest()[:12]
