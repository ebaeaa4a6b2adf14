"""What a draft is given when a request starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from univer.drafting.builder import TreeBuilder

# Committed ids, the path of each node and the nodes' logits `[n, V]` -> processed scores `[n, V]`.
NodeProcessors = Callable[[Sequence[int], Sequence[Sequence[int]], Tensor], Tensor]


@dataclass(frozen=True)
class DraftRequest:
    """What a draft is given when a request starts.

    Attributes:
        vocabulary: number of token ids of the target; no larger id may be proposed.
        device: device of the target distributions; the draft distributions of a tree are to be there too.
        distributions: turns the draft's logits `[n, V]` and the name of the step into the rows `Q_v`: float32, the very
            rows that children are drawn from. It treats every token alike, whatever its column, so a draft may call it
            on the part of the vocabulary that it scores.
        generator: source of all randomness of the draft, on the CPU.
        branching: whether trees may have more than one node on a level.
        max_length: largest number of tokens, prompt included, that the sequence can reach.
        features: the target's hidden states `[n, k * H]` after each token of the prompt, those of the `k` layers that
            the draft asked for concatenated; None if it asked for none.
        repeated: whether several trees are drafted below every prefix, so that what was computed for one of them is
            worth keeping for the next.
        processors: those of the request, for logits `[n, V]` over the target's whole vocabulary; None if there are
            none. What they do to the draft is a matter of speed alone: a token that they forbid is not worth a node.
        shared: what the sessions of one engine have in common, such as a cache for several sequences; each draft uses
            itself as the key.
    """

    vocabulary: int
    device: torch.device
    distributions: Callable[[Tensor, str], Tensor]
    generator: torch.Generator
    branching: bool
    max_length: int
    features: Tensor | None = None
    repeated: bool = False
    processors: NodeProcessors | None = None
    shared: dict[Any, Any] = field(default_factory=dict)

    def rows(
        self, logits: Tensor, step: str, committed: Sequence[int], tree: TreeBuilder, nodes: Sequence[int]
    ) -> Tensor:
        """The rows `Q_v` of some nodes, processed and warped: the very rows that their children are drawn from.

        Args:
            logits: the draft's `[n, D]`, by the columns of the tree.
            step: what produced them, named in error messages.
            committed: all committed token ids.
            tree: the tree while it grows.
            nodes: `n` node ids; the root comes first of all, parents before their children.

        Returns:
            `[n, D]`, float32.
        """
        if self.processors is None:
            return self.distributions(logits, step)
        whole = tree.columns.spread(logits.to(self.device), self.vocabulary)
        processed = tree.columns.pick(self.processors(committed, [tree.path(node) for node in nodes], whole))
        # Where everything that they allow is outside the draft's vocabulary, its own row serves.
        empty = processed.amax(-1, keepdim=True) == float("-inf")
        return self.distributions(processed.where(~empty, logits.to(processed)), step)


def fit_vocabulary(logits: Tensor, size: int) -> Tensor:
    """Cut rows of draft logits to the target's vocabulary, or extend them by tokens of probability zero.

    Args:
        logits: `[n, W]`.
        size: number of token ids of the target.

    Returns:
        `[n, size]`; the distribution of such a row is the draft's without foreign ids, renormalised.

    Example:
        >>> fit_vocabulary(torch.tensor([[1.0, 2.0]]), 3)
        tensor([[1., 2., -inf]])
    """
    width = logits.shape[-1]
    if width >= size:
        return logits[..., :size]
    return torch.nn.functional.pad(logits, (0, size - width), value=float("-inf"))
