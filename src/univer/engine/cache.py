"""The key/value cache of a request: every token of every layer is kept until the verdict says which ones stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache


def new_cache() -> Any:
    """An empty cache whose layers all keep everything.

    It is made without the model's configuration on purpose: a sliding-window layer of transformers forgets tokens that
    a rejected branch pushed out, so windows are imposed through the mask instead.
    """
    return DynamicCache()


def keep_nodes(cache: Any, length: int, nodes: Sequence[int]) -> None:
    """Shrink every layer to its first `length` entries followed by `nodes`.

    Args:
        cache: a `DynamicCache` of plain layers.
        length: number of leading entries that stay as they are.
        nodes: which of the entries after `length` stay, counted from there, in rising order.
    """
    kept = length + len(nodes)
    moved = list(nodes) != list(range(len(nodes)))
    index: dict[torch.device, Tensor] = {}
    for layer in cache.layers:
        if layer.keys is None:
            continue
        for name in ("keys", "values"):
            entries = getattr(layer, name)
            if moved:
                if entries.device not in index:
                    index[entries.device] = torch.tensor(nodes, device=entries.device) + length
                # index_select copies, so source and destination may overlap.
                entries[..., length:kept, :] = entries.index_select(-2, index[entries.device])
            setattr(layer, name, entries[..., :kept, :])


def check_lengths(cache: Any, length: int) -> None:
    """Make sure that every layer holds exactly `length` entries.

    Raises:
        ValueError: a layer keeps another number, so that it could not be rolled back.
    """
    for number, layer in enumerate(cache.layers):
        if layer.keys is not None and layer.get_seq_length() != length:
            raise ValueError(
                f"layer {number} keeps {layer.get_seq_length()} cache entries where {length} tokens were read: a cache "
                "of this kind cannot be rolled back to the accepted tokens, so the model is not supported"
            )
