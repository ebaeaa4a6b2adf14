"""The key/value cache of a batch: every token of every row and layer is kept until the verdicts say which ones stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

# Entries that a layer makes room for at first; it doubles when they are used up.
FIRST_ROOM = 256


@dataclass
class Place:
    """Where the entries of the next pass go: behind those that each of its rows holds already.

    Attributes:
        first: the first row of the pass; its rows are consecutive.
        held: number of entries of each of its rows.
    """

    first: int = 0
    held: list[int] = field(default_factory=lambda: [0])

    def columns(self, count: int, device: torch.device) -> Tensor:
        """`[b, count]`: where each row's next entries go."""
        return torch.tensor(self.held, device=device)[:, None] + torch.arange(count, device=device)


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """A layer that writes the new entries of every row behind its old ones, instead of copying all on every pass.

    Rows hold different numbers of entries; what lies beyond them is zeros or left over from rejected branches, finite
    in any case, and has to be masked. `keys` and `values` are the part of the room that the last pass could see.
    """

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Make the first room, of the shape and dtype of the first entries."""
        rows = self._place.first + key_states.shape[0]
        self.rooms = [
            states.new_zeros(rows, states.shape[1], FIRST_ROOM, states.shape[-1])
            for states in (key_states, value_states)
        ]
        # Last: where memory runs out, the layer is as it was.
        super().lazy_initialization(key_states, value_states)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write entries `[b, heads, n, d]` of the rows of the pass, and return all that these rows hold."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        place, (rows, _, count, _) = self._place, key_states.shape
        if rows != len(place.held):
            raise ValueError(f"a pass over {len(place.held)} rows wrote cache entries of {rows}")
        last, total = place.first + rows, max(place.held) + count
        self.reserve(last, total)
        for room, states in zip(self.rooms, (key_states, value_states), strict=True):
            if len(set(place.held)) == 1:
                room[place.first : last, :, total - count : total] = states
            else:
                columns = place.columns(count, states.device)[:, None, :, None].expand_as(states)
                room[place.first : last].scatter_(2, columns, states)
        self.keys, self.values = (room[place.first : last, :, :total] for room in self.rooms)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """Number of entries before the pass that is being made; of the longest row, where rows differ."""
        return max(self._place.held)

    def reserve(self, rows: int, entries: int) -> None:
        """Make room for so many rows and entries, at least twice as much as before where it does not suffice."""
        held_rows, _, held, _ = self.rooms[0].shape
        if rows <= held_rows and entries <= held:
            return
        rows = held_rows if rows <= held_rows else max(rows, 2 * held_rows)
        entries = held if entries <= held else 2 * entries
        larger = [room.new_zeros(rows, room.shape[1], entries, room.shape[-1]) for room in self.rooms]
        for room, old in zip(larger, self.rooms, strict=True):
            room[:held_rows, :, :held] = old
        # Both at once: where memory runs out, keys and values are as they were.
        self.rooms = larger


def new_cache(place: Place) -> Any:
    """An empty cache whose layers all keep everything.

    It is made without the model's configuration on purpose: a sliding-window layer of transformers forgets tokens that
    a rejected branch pushed out, so windows are imposed through the mask instead.

    Args:
        place: where the entries of the next pass go; whoever makes the passes changes it.
    """
    cache = DynamicCache()
    cache.layer_class_to_replicate = partial(RoomyLayer, place)
    return cache


def keep_nodes(cache: Any, lengths: Sequence[int], nodes: Sequence[Sequence[int]]) -> None:
    """Let `nodes` follow the first `length` entries of each row, in every layer.

    Args:
        cache: of `new_cache`.
        lengths: for each row the number of leading entries that stay as they are.
        nodes: for each row which of the entries after them stay, counted from there, in rising order.
    """
    moves = [
        (row, length + node, length + number)
        for row, (length, kept) in enumerate(zip(lengths, nodes, strict=True))
        for number, node in enumerate(kept)
        if node != number
    ]
    if not moves:
        return
    index: dict[torch.device, Tensor] = {}
    for layer in cache.layers:
        if not layer.is_initialized:
            continue
        for room in layer.rooms:
            if room.device not in index:
                index[room.device] = torch.tensor(moves, device=room.device).T
            row, source, destination = index[room.device]
            # The right side is a copy, so source and destination may overlap.
            room[row, :, destination] = room[row, :, source]


Entries = list[tuple[Tensor, Tensor] | None]


def entries(cache: Any, row: int, length: int) -> Entries:
    """The first keys and values `[1, heads, length, d]` of one row, layer by layer; None for layers without any."""
    return [
        tuple(room[row : row + 1, :, :length] for room in layer.rooms) if layer.is_initialized else None
        for layer in cache.layers
    ]


def clear_row(cache: Any, row: int) -> None:
    """Set the entries of a row to zero, in every layer.

    What a row with NaN leaves behind would spoil the row that takes its place: a masked NaN is still one.
    """
    for layer in cache.layers:
        # No layer has made room for a row of which nothing was read.
        if layer.is_initialized and row < len(layer.rooms[0]):
            for room in layer.rooms:
                room[row].zero_()


def move_row(cache: Any, source: int, destination: int, length: int) -> None:
    """Copy the first `length` entries of one row over those of another, in every layer."""
    # No layer has made room for a row of which nothing was read.
    for layer in cache.layers if length else ():
        if layer.is_initialized:
            for room in layer.rooms:
                room[destination, :, :length] = room[source, :, :length]


def check_lengths(cache: Any, length: int) -> None:
    """Make sure that every layer shows exactly `length` entries after a pass.

    Raises:
        ValueError: a layer keeps another number, so that it could not be rolled back.
    """
    for number, layer in enumerate(cache.layers):
        if layer.keys is not None and not layer.keys.shape[-2] == layer.values.shape[-2] == length:
            raise ValueError(
                f"layer {number} keeps {layer.keys.shape[-2]} cache entries where {length} tokens were read: a cache "
                "of this kind cannot be rolled back to the accepted tokens, so the model is not supported"
            )
