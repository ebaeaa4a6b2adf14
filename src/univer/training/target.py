"""Checks of a target before a head is trained for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch

from univer.drafting.eagle.target import OutputScaling, output_scaling, output_weight, token_embeddings
from univer.runtime.features import FeatureTap, decoder_layers


def check_target(model: Any, tokenizer: Any, layers: Sequence[int]) -> None:
    """Raise an error if a model lacks what training needs: hidden states, an output layer that reads the last one, and
    one vocabulary for input and output.

    Args:
        model: a causal language model of transformers.
        tokenizer: its tokenizer.
        layers: hidden states that the head is to read, as for `FeatureTap`.

    Raises:
        ValueError: with what is missing.
    """
    name, config = type(model).__name__, model.config.get_text_config()
    if getattr(model.config, "is_encoder_decoder", False):
        raise ValueError(f"a {name} is an encoder and a decoder: a head is trained for decoder-only models")
    if model.training:
        raise ValueError(f"this {name} is in training mode, which changes its distributions: call its eval() first")
    try:
        decoder_layers(model)
    except ValueError as error:
        raise ValueError(f"the layers of a {name} were not found, so a head cannot read their inputs") from error
    FeatureTap(model, layers)
    table, output = token_embeddings(model), output_weight(model)
    if table.shape[1] != config.hidden_size:
        raise ValueError(
            f"the token embeddings of this {name} have width {table.shape[1]}, its hidden states {config.hidden_size}: "
            "a head needs the same width"
        )
    if len(output) != len(table):
        raise ValueError(f"this {name} reads {len(table)} token ids and writes {len(output)}: not supported")
    if len(tokenizer) > len(table):
        raise ValueError(f"the tokenizer has {len(tokenizer)} tokens, the {name} {len(table)}: they do not fit")
    if output_scaling(model) != OutputScaling():
        raise ValueError(f"the logits of a {name} are capped or scaled: training a head for it is not supported")


def weights_label(model: Any) -> str:
    """A short text that differs between models with other weights, made of the first numbers of every parameter.

    Raises:
        ValueError: a parameter is offloaded.
    """
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        if parameter.device.type == "meta":
            raise ValueError(f"the parameter {name} of the target is offloaded: training needs the whole model loaded")
        digest.update(f"{name} {tuple(parameter.shape)} {parameter.dtype}".encode())
        digest.update(parameter.detach().flatten()[:64].to("cpu", torch.float32).numpy().tobytes())
    return digest.hexdigest()[:12]
