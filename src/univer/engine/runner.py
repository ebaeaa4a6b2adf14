"""One model and one text: reads committed tokens, then trees of candidate tokens, and keeps what was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from univer.engine.batch import TreeBatch


class TreeRunner:
    """A `TreeBatch` of a single row.

    The cache holds the committed tokens read so far, followed by the candidate *nodes* of the present round. A node
    sees the committed tokens, its ancestors and itself; its position is that of its depth.

    Args:
        model: a causal language model of transformers, or one with the same `forward`.
        features: hidden states to take while reading, see `FeatureTap`.

    Attributes:
        batch: the batch of one row.

    Raises:
        ValueError: the model has no such hidden states.
    """

    def __init__(self, model: Any, features: Sequence[int] = ()) -> None:
        self.batch = TreeBatch(model, features)
        self.pattern, self.device = self.batch.pattern, self.batch.device
        self._text = self.batch.texts[self.batch.add()]

    @property
    def length(self) -> int:
        """Number of committed tokens in the cache."""
        return self._text.length

    @property
    def nodes(self) -> int:
        """Number of candidate nodes in the cache."""
        return len(self._text.depths)

    @property
    def passes(self) -> int:
        """Number of forward passes so far."""
        return self.batch.passes

    @property
    def features(self) -> Tensor | None:
        """The hidden states `[n, k * H]` of the `n` tokens of the last call; None if none were asked for."""
        return None if self.batch.features is None else self.batch.features[0]

    def extend(self, tokens: Sequence[int]) -> Tensor:
        """Read tokens that are committed already, at least one; returns logits `[V]` after the last of them."""
        return self.batch.extend(0, tokens)

    def read_nodes(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Read candidate nodes, in one pass.

        Args:
            tokens: `n` token ids.
            parents: for each the number of its parent among all nodes read since the last `keep` (these included), or
                -1 if it follows the committed tokens; parents come first.

        Returns:
            Logits `[n, V]` after each node, in the model's dtype.

        Raises:
            ValueError: the nodes branch and the attention back end cannot be given a mask.
        """
        return self.batch.read_nodes([tokens], [parents])[0]

    def keep(self, nodes: Sequence[int]) -> None:
        """Commit some candidate nodes, a path from the committed tokens down, and forget the others.

        Args:
            nodes: their numbers, in rising order.
        """
        self.batch.keep([nodes])
