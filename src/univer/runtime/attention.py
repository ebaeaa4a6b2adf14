"""Attention masks for token trees: which cached and which new tokens a query may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

MASKED_BACKENDS = ("eager", "sdpa")
LAYER_TYPES = ("full_attention", "sliding_attention")
# Settings of models that limit by themselves what a query sees, counted by places in the cache: a tree's nodes lie
# there side by side.
OWN_LIMITS = (
    "attention_types",
    "attention_window",
    "attention_window_size",
    "keep_window_size",
    "local_attention_window_len",
    "sliding_window_size",
    "window_size",
)


@dataclass(frozen=True)
class AttentionPattern:
    """How the layers of a model limit what a query sees.

    Attributes:
        windows: per kind of layer, the number of latest positions a query sees, itself included; None for all.
        backend: transformers' name of the attention implementation.
    """

    windows: dict[str, int | None]
    backend: str

    @property
    def honours_masks(self) -> bool:
        """Whether the back end applies a mask of our own, so that a tree may branch."""
        return self.backend in MASKED_BACKENDS

    def causal_without_mask(self, past: int, count: int) -> bool:
        """Whether `count` tokens in a row after `past` cached ones need no explicit mask."""
        if not self.honours_masks:
            return True
        fits = all(window is None or past + count <= window for window in self.windows.values())
        return fits and (count == 1 or past == 0)

    def mask(self, visible: Tensor, queries: Tensor, keys: Tensor, dtype: torch.dtype) -> Tensor | dict[str, Tensor]:
        """The additive mask of each kind of layer.

        Args:
            visible: bool `[b, n, m]`: whether query `i` may see key `j`, windows aside; every query sees itself.
            queries: positions of the queries `[b, n]`.
            keys: positions of the keys `[b, m]`.
            dtype: dtype of the model's attention scores.

        Returns:
            `[b, 1, n, m]` of zeros and of the smallest finite number of `dtype`, or a dictionary of such tensors by
            layer type where the model mixes several.
        """
        masks = {}
        for layer_type, window in self.windows.items():
            seen = visible
            if window is not None:
                seen = visible & (keys[:, None] > queries[:, :, None] - window)
            # Not -inf: a row that is masked as a whole would become NaN in a softmax.
            additive = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
            masks[layer_type] = additive.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]
        return next(iter(masks.values())) if len(masks) == 1 else masks


def attention_pattern(config: Any) -> AttentionPattern:
    """Read the kinds of layers, their windows and the back end from a model's configuration.

    Args:
        config: configuration of a decoder-only model.

    Returns:
        The pattern.

    Raises:
        ValueError: a layer is neither full nor sliding-window attention, or limits by another setting what it sees.
    """
    if own := [name for name in OWN_LIMITS if getattr(config, name, None)]:
        raise ValueError(
            f"attention that is limited by {own[0]} is not supported: it counts places in the cache, where the "
            "branches of a tree lie side by side; use a model with full attention, or with sliding_window and "
            "layer_types"
        )
    window = getattr(config, "sliding_window", None)
    layer_types = getattr(config, "layer_types", None)
    if layer_types is None:
        layer_types = ["full_attention" if window is None else "sliding_attention"]
    unknown = sorted(set(layer_types) - set(LAYER_TYPES))
    if unknown:
        raise ValueError(
            f"layers of type {', '.join(map(repr, unknown))} are not supported: their state cannot be rolled back to "
            "the accepted tokens; use a model with full or sliding-window attention only"
        )
    windows = {kind: window if kind == "sliding_attention" else None for kind in sorted(set(layer_types))}
    return AttentionPattern(windows, getattr(config, "_attn_implementation", None) or "eager")
