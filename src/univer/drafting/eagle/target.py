"""What an EAGLE head takes from its target: hidden states, token embeddings and, for some heads, the output layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from univer.drafting.eagle.config import EagleConfig
from univer.runtime.features import FeatureTap, decoder_layers, uncompiled

# The largest difference between a model's logits and those computed from its last hidden state, relative to their
# standard deviation; the rounding of each logit comes on top.
TOLERANCE = 0.02


@dataclass(frozen=True)
class OutputScaling:
    """How a model turns the scores of its output layer into logits.

    Attributes:
        scale: factor of the scores, as in Cohere (`logit_scale`) and Granite (`logits_scaling`).
        cap: largest absolute value of a logit, as in Gemma 2 (`final_logit_softcapping`), or None.
    """

    scale: float = 1.0
    cap: float | None = None

    def __call__(self, scores: Tensor) -> Tensor:
        """Logits, `cap * tanh(scale * scores / cap)`, in the shape and dtype of the scores."""
        scaled = scores if self.scale == 1 else scores * self.scale
        return scaled if self.cap is None else self.cap * torch.tanh(scaled / self.cap)


def token_embeddings(target: Any) -> Tensor:
    """The token embeddings `[V, H]` of a causal language model; see `plain_weight`."""
    return plain_weight(target, target.get_input_embeddings(), "the token embeddings")


def output_weight(target: Any) -> Tensor:
    """The weight `[V, H]` of the output layer of a causal language model; see `plain_weight`."""
    return plain_weight(target, target.get_output_embeddings(), "the output layer")


def plain_weight(target: Any, module: Any, part: str) -> Tensor:
    """The floating-point weight of a module, also where accelerate has offloaded it.

    Args:
        target: the model, for messages.
        module: a part of it.
        part: what the part is called in messages.

    Returns:
        The weight itself; where it is offloaded, on the CPU.

    Raises:
        ValueError: there is no such part, it is quantised, or its values are on no device.
    """
    name = type(target).__name__
    weight = getattr(module, "weight", None)
    # The weight of a dynamically quantised layer is a method.
    if not isinstance(weight, Tensor) or not weight.is_floating_point():
        kind = type(module)
        found = "missing" if module is None else f"a {kind.__module__}.{kind.__name__}"
        raise ValueError(
            f"{part} of the {name} is {found}, not a layer with floating-point weights that an EAGLE head can share: "
            "use a target without quantisation there, or another draft"
        )
    if weight.device.type == "meta":
        hook = getattr(module, "_hf_hook", None)
        maps = [getattr(part_of, "weights_map", None) for part_of in (hook, *getattr(hook, "hooks", ()))]
        stored = next((values for values in maps if values is not None), None)
        if stored is None:
            raise ValueError(f"{part} of the {name} has no values, it is on the device 'meta': load its weights")
        weight = stored["weight"]
    return weight


def output_scaling(target: Any) -> OutputScaling:
    """How a model scales and caps the scores of its output layer, measured in one pass over a few tokens.

    Configurations do not say it: `logits_scaling` divides in Granite and multiplies in HyperCLOVA X.

    Args:
        target: a causal language model of transformers.

    Raises:
        ValueError: the logits are something else than scaled and capped scores of the output layer.
    """
    target = uncompiled(target)
    weight, config = output_weight(target), target.config.get_text_config()
    bias = getattr(target.get_output_embeddings(), "bias", None)
    tap = FeatureTap(target, (-1,))
    tokens = torch.arange(16)[None] % len(weight)
    if target.device.type != "meta":  # else accelerate moves them
        tokens = tokens.to(target.device)
    with torch.inference_mode(), tap.open():
        logits = target(input_ids=tokens, use_cache=False).logits[0].to(weight.device)
        scores = functional.linear(tap.take()[0].to(weight), weight, bias).float()
    rounding, logits = 2 * torch.finfo(logits.dtype).eps, logits.float()
    largest = TOLERANCE * logits.std() + rounding * logits.abs()
    cap = getattr(config, "final_logit_softcapping", None)
    # Near the cap the scores cannot be told from the logits.
    inner = logits.abs() < 0.5 * (cap or float("inf"))
    linear = logits if cap is None else cap * torch.atanh(logits / cap)
    products = (scores * linear)[inner].sum() / scores[inner].square().sum()
    for scale in (1.0, float(products)):
        found = OutputScaling(scale, cap)
        if bool(((found(scores) - logits).abs() <= largest).all()):
            return found
    raise ValueError(
        f"the logits of a {type(target).__name__} are not computed by its output layer from its last hidden state, not "
        "even with a scale or a cap: use a draft that does not share the output layer"
    )


def check_target(config: EagleConfig, target: Any) -> None:
    """Raise an error if a head was not made for a target.

    Args:
        config: the head's sizes.
        target: a causal language model of transformers.

    Raises:
        ValueError: with what the head expects and what the target has.
    """
    name = type(target).__name__
    table, layers = token_embeddings(target), len(decoder_layers(target)[2])
    output = list(output_weight(target).shape) if config.shares_output else None
    for what, expected, found in (
        ("hidden states of width", config.target_hidden_size, target.config.get_text_config().hidden_size),
        ("token embeddings of width", table.shape[1] if config.own_embeddings else config.hidden_size, table.shape[1]),
        ("a vocabulary of", config.vocab_size, len(table)),
        ("at least as many layers as", max(layers, *config.features), layers),
        ("an output layer of shape", output and [config.vocab_size, config.hidden_size], output),
    ):
        if expected != found:
            raise ValueError(
                f"the EAGLE head was made for a target with {what} {expected}, the {name} has {found}: use a head of "
                "this target"
            )
    if output and isinstance(getattr(target.get_output_embeddings(), "bias", None), Tensor):
        raise ValueError(f"the output layer of the {name} has a bias, which this EAGLE head does not read")
