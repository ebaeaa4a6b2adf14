"""The key/value cache of a request: every token of every layer is kept until the verdict says which ones stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

# Entries that a layer makes room for at first; it doubles when they are used up.
FIRST_ROOM = 256


class BufferedLayer(DynamicLayer):  # type: ignore[misc]
    """A layer that writes new entries behind the old ones, instead of copying all of them on every pass.

    `keys` and `values` are views of the used part of two larger tensors; a shorter view set from outside (a rollback)
    is honoured: the next entries are written right behind it.
    """

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Make the first room, of the shape and dtype of the first entries."""
        super().lazy_initialization(key_states, value_states)
        self._room = [
            states.new_empty(*states.shape[:-2], FIRST_ROOM, states.shape[-1]) for states in (key_states, value_states)
        ]
        self.keys, self.values = (room[..., :0, :] for room in self._room)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append entries `[b, heads, n, d]` and return all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        used = self.keys.shape[-2]
        total = used + key_states.shape[-2]
        if total > self._room[0].shape[-2]:
            for place, entries in enumerate((self.keys, self.values)):
                larger = entries.new_empty(*entries.shape[:-2], 2 * total, entries.shape[-1])
                larger[..., :used, :] = entries
                self._room[place] = larger
        for room, states in zip(self._room, (key_states, value_states), strict=True):
            room[..., used:total, :] = states
        self.keys, self.values = (room[..., :total, :] for room in self._room)
        return self.keys, self.values


def new_cache() -> Any:
    """An empty cache whose layers all keep everything.

    It is made without the model's configuration on purpose: a sliding-window layer of transformers forgets tokens that
    a rejected branch pushed out, so windows are imposed through the mask instead.
    """
    cache = DynamicCache()
    cache.layer_class_to_replicate = BufferedLayer
    return cache


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
