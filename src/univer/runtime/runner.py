"""One model and one text: reads committed tokens, then trees of candidate tokens, and keeps what was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from univer.runtime.batch import TreeBatch


class TreeRunner:
    """One row of a `TreeBatch`, which by default is the only one.

    The cache holds the committed tokens read so far, followed by the candidate *nodes* of the present round. A node
    sees the committed tokens, its ancestors and itself; its position is that of its depth.

    Args:
        model: a causal language model of transformers, or one with the same `forward`.
        features: hidden states to take while reading, see `FeatureTap`.
        batch: a batch of this model with the rows of other texts; by default a new one.

    Attributes:
        batch: the batch.
        passes: number of forward passes over this text so far.

    Raises:
        ValueError: the model has no such hidden states.
    """

    def __init__(self, model: Any, features: Sequence[int] = (), batch: TreeBatch | None = None) -> None:
        self.batch = TreeBatch(model, features) if batch is None else batch
        self.pattern, self.device = self.batch.pattern, self.batch.device
        self._text = self.batch.texts[self.batch.add()]
        self.passes = 0

    @property
    def row(self) -> int:
        """Its number in the batch, which changes when other rows leave."""
        return next(number for number, text in enumerate(self.batch.texts) if text is self._text)

    def leave(self) -> None:
        """Take the text out of the batch."""
        self.batch.remove(self.row)

    @property
    def length(self) -> int:
        """Number of committed tokens in the cache."""
        return self._text.length

    @property
    def nodes(self) -> int:
        """Number of candidate nodes in the cache."""
        return len(self._text.depths)

    @property
    def features(self) -> Tensor | None:
        """The hidden states `[n, k * H]` of the `n` tokens of the last call; None if none were asked for."""
        return None if self.batch.features is None else self.batch.features[0]

    def extend(self, tokens: Sequence[int]) -> Tensor:
        """Read tokens that are committed already, at least one; returns logits `[V]` after the last of them."""
        before = self.batch.passes
        logits = self.batch.extend(self.row, tokens)
        self.passes += self.batch.passes - before
        return logits

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
        return NodeInput(self, tokens, parents).run_with([])[0]

    def keep(self, nodes: Sequence[int]) -> None:
        """Commit some candidate nodes, a path from the committed tokens down, and forget the others.

        Args:
            nodes: their numbers, in rising order.
        """
        self.batch.keep([nodes], self.row)


@dataclass(frozen=True)
class NodeInput:
    """Candidate nodes that one sequence contributes to the next pass, see `univer.drafting.proposals.PassInput`.

    Attributes:
        runner: the text.
        tokens: as for `TreeRunner.read_nodes`.
        parents: likewise.
    """

    runner: TreeRunner
    tokens: Sequence[int]
    parents: Sequence[int]

    @property
    def batch_key(self) -> object:
        """The batch: all of its rows can be read in one pass."""
        return self.runner.batch

    def run_with(self, others: Sequence[NodeInput]) -> list[Tensor]:
        """Logits `[n, V]` after the nodes of each text."""
        by_row = {own.runner.row: own for own in (self, *others)}
        first, end = min(by_row), max(by_row) + 1
        # Rows between them that have nothing to read take part with filler alone.
        parts = [by_row.get(row) for row in range(first, end)]
        logits = self.runner.batch.read_nodes(
            [() if part is None else part.tokens for part in parts],
            [() if part is None else part.parents for part in parts],
            first,
        )
        for own in by_row.values():
            own.runner.passes += 1
        return [logits[row - first] for row in by_row]
