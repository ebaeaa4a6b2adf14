"""Does a model honour a token tree? Architectures that the tests do not cover are asked before they are trusted."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import nn

from univer.runtime.features import bare_model
from univer.runtime.runner import TreeRunner

# Compared with plain passes by the tests, on every commit.
TESTED = (
    "llama",
    "qwen2",
    "qwen3",
    "mistral",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_neox",
    "opt",
    "phi",
    "phi3",
)

PREFIX = [3, 1, 4]
TOKENS = [1, 5, 2, 6, 5]
PARENTS = [-1, 0, 0, 1, 2]
TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-3}
TOLERANCE_ELSEWHERE = 0.06
FLOATING = (torch.float64, torch.float32, torch.float16, torch.bfloat16)

_sound: weakref.WeakSet[nn.Module] = weakref.WeakSet()


def check_tree_attention(model: Any, role: str) -> None:
    """Refuse a model on which a tree does not give what plain passes over its paths give.

    Some architectures take positions from the place in the cache (ALiBi), others ignore a mask of our own, and modules
    that quantise activations may take one scale for all tokens of a pass. Five nodes tell. Models that are not of
    transformers are not asked, nor are those known from the tests as long as all of their modules are plain ones.

    Args:
        model: a causal language model.
        role: `"target"` or `"draft"`, for the message.

    Raises:
        ValueError: the logits at a node depend on more than its path.
    """
    ours_to_ask = type(bare_model(model)).__module__.partition(".")[0] in ("transformers", "transformers_modules")
    foreign = _foreign_modules(model)
    tested = getattr(model.config, "model_type", None) in TESTED and not foreign
    if not ours_to_ask or tested or model in _sound:
        return
    refusal = (
        f"the {role} {type(model).__name__} does not honour the positions and the mask of a token tree, "
        "so it cannot be used with one"
    )
    try:
        difference = _difference(model)
    except Exception as error:  # whatever a model raises that is not made for such masks
        raise ValueError(f"{refusal} ({error})") from error
    if not difference <= TOLERANCE.get(getattr(model, "dtype", torch.float32), TOLERANCE_ELSEWHERE):
        why = (
            f"; its modules of {', '.join(foreign)} may take one scale for all tokens of a pass: quantise the weights "
            "alone"
        )
        raise ValueError(f"{refusal} (its logits differ by {difference:.2g} of their range{why if foreign else ''})")
    _sound.add(model)


def _foreign_modules(model: Any) -> list[str]:
    """Classes of modules that are not floating-point ones of torch, transformers or this package."""
    kinds = {type(module) for module in model.modules() if not _is_plain(module)}
    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)


def _is_plain(module: nn.Module) -> bool:
    home = type(module).__module__.split(".")
    known = home[0] in ("transformers", "univer") or home[:2] == ["torch", "nn"]
    weights = module.parameters(recurse=False)
    return known and all(type(weight) is nn.Parameter and weight.dtype in FLOATING for weight in weights)


def _difference(model: Any) -> float:
    """Largest difference between the logits of a tree and those of plain passes, relative to the largest logit."""
    runner = TreeRunner(model)
    with torch.inference_mode():
        runner.extend(PREFIX)
        logits = runner.read_nodes(TOKENS, PARENTS).float()
        paths: list[list[int]] = []
        for token, parent in zip(TOKENS, PARENTS, strict=True):
            paths.append([*(paths[parent] if parent >= 0 else PREFIX), token])
        plain = [model(input_ids=torch.tensor([path], device=runner.device)).logits[0, -1].float() for path in paths]
    expected = torch.stack(plain)
    return float((logits - expected).abs().max() / expected.abs().max())
