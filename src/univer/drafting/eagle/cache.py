"""Keys and values of a head: those of the committed text, then those of the nodes of the current round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from univer.drafting.eagle.config import EagleConfig
from univer.topology import lines_of_descent

# Number of entries that a new cache has room for; it doubles when it is full.
FIRST_ROOM = 256


class HeadCache:
    """Keys and values of one request, in two buffers that are written in place.

    The `length` entries of the committed text come first, then those of the nodes of the tree, which attend to the
    committed entries, their ancestors and themselves.

    Args:
        config: the head's sizes.
        dtype: dtype of keys and values.
        device: device of keys and values.

    Attributes:
        length: number of committed entries.
    """

    def __init__(self, config: EagleConfig, dtype: torch.dtype, device: torch.device) -> None:
        shape = (1, config.kv_heads, FIRST_ROOM, config.head_dim)
        self._keys = torch.empty(shape, dtype=dtype, device=device)
        self._values = torch.empty(shape, dtype=dtype, device=device)
        self.length = 0
        self._ancestors = np.zeros((0, 0), dtype=bool)

    @property
    def nodes(self) -> int:
        """Number of nodes after the committed entries."""
        return len(self._ancestors)

    def forget_nodes(self) -> None:
        """Drop the nodes; the committed entries stay."""
        self._ancestors = np.zeros((0, 0), dtype=bool)

    def attend_text(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Causal attention of further committed rows, whose keys and values are kept.

        Args:
            queries: `[1, heads, n, d]`.
            keys: `[1, kv_heads, n, d]`.
            values: likewise.

        Returns:
            `[1, heads, n, d]`.
        """
        if self.nodes:
            raise RuntimeError("committed rows cannot be read after nodes: call forget_nodes first")
        past, count = self.length, keys.shape[-2]
        self.length += count
        visible = None
        if past and count > 1:
            visible = torch.ones(count, self.length, dtype=torch.bool, device=keys.device).tril_(past)
        return self._attend(queries, keys, values, past, visible, causal=past == 0)

    def attend_nodes(self, parents: Sequence[int], queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Attention of further nodes, over the committed text, their ancestors and themselves.

        Args:
            parents: for each of the `n` nodes the index of its parent among the nodes read before, -1 for a child of
                the root.
            queries: `[1, heads, n, d]`.
            keys: `[1, kv_heads, n, d]`.
            values: likewise.

        Returns:
            `[1, heads, n, d]`.
        """
        first = self.nodes
        self._ancestors = lines_of_descent(self._ancestors, parents)
        visible = None
        if self.nodes > 1:
            visible = torch.ones(len(parents), self.length + self.nodes, dtype=torch.bool, device=keys.device)
            visible[:, self.length :] = torch.from_numpy(self._ancestors[first:]).to(keys.device)
        return self._attend(queries, keys, values, self.length + first, visible, causal=False)

    def _attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, start: int, visible: Tensor | None, *, causal: bool
    ) -> Tensor:
        end = start + keys.shape[-2]
        if end > self._keys.shape[-2]:
            self._keys, self._values = (_enlarged(old, start, 2 * end) for old in (self._keys, self._values))
        self._keys[:, :, start:end] = keys
        self._values[:, :, start:end] = values
        return functional.scaled_dot_product_attention(
            queries,
            self._keys[:, :, :end],
            self._values[:, :, :end],
            attn_mask=visible,
            is_causal=causal,
            enable_gqa=True,
        )


def _enlarged(entries: Tensor, used: int, room: int) -> Tensor:
    larger = entries.new_empty(*entries.shape[:2], room, entries.shape[-1])
    larger[:, :, :used] = entries[:, :, :used]
    return larger
