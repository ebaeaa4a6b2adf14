"""A growth policy that alternates between several others and records what each tree asked of the draft."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Grower, Growth, Guess, NodeSlots, TreePolicy
from univer.drafting.growth.base import WrappedGrowth
from univer.drafting.shapes import Shape
from univer.tree import DraftTree


@dataclass(frozen=True)
class TreeRecord:
    """What one tree asked of the draft.

    Attributes:
        policy: index of the policy that grew it.
        nodes: number of nodes of the finished tree, root excluded.
        widths: number of nodes that the draft read on each level, the root's level first.
        expanded: ids of these nodes while the tree grew.
    """

    policy: int
    nodes: int
    widths: tuple[int, ...]
    expanded: tuple[int, ...]


class AlternatingPolicy:
    """Alternates between policies from tree to tree: the one used least often so far comes next, ties at random.

    With a single policy it grows that policy's trees and records them. It is its own grower, so it serves one request
    at a time; each policy learns from its own trees.

    Args:
        policies: the policies.
        seed: random seed for ties.

    Attributes:
        records: one entry per finished tree, in order.
        counts: number of trees started by each policy.
    """

    def __init__(self, policies: Sequence[TreePolicy], seed: int = 0) -> None:
        self.name = " or ".join(policy.name for policy in policies)
        self.max_nodes = max(policy.max_nodes for policy in policies)
        self.max_depth = max(policy.max_depth for policy in policies)
        self.records: list[TreeRecord] = []
        self.counts = [0] * len(policies)
        self._policies = policies
        self._seed = seed
        self._random = random.Random(seed)
        self._growers: list[Grower] = []
        self._current = 0

    def widest(self, law: str) -> Shape:
        """Return the widest tree of the policy with the most nodes."""
        return max((policy.widest(law) for policy in self._policies), key=lambda shape: len(shape.parents))

    def start(self, law: str, *, greedy: bool = False) -> AlternatingPolicy:
        """Start a request with all policies."""
        self._growers = [policy.start(law, greedy=greedy) for policy in self._policies]
        self._random = random.Random(self._seed)
        return self

    def begin(self, depth: int, nodes: int | None = None) -> Growth:
        """Start a tree with the policy that comes next."""
        least = min(self.counts)
        self._current = self._random.choice([index for index, count in enumerate(self.counts) if count == least])
        self.counts[self._current] += 1
        return _RecordedGrowth(self._growers[self._current].begin(depth, nodes), self._current, self.records)

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Pass the verdict on to the policy of the last tree."""
        self._growers[self._current].settle(tree, path)


class _RecordedGrowth(WrappedGrowth):
    """Another growth, whose levels are counted."""

    def __init__(self, growth: Growth, policy: int, records: list[TreeRecord]) -> None:
        super().__init__(growth)
        self._policy = policy
        self._records = records
        self._widths: list[int] = []
        self._expanded: list[int] = []

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        self._widths.append(len(nodes))
        self._expanded += nodes
        return super().slots(tree, nodes, rows, guesses)

    def finish(self, tree: TreeBuilder) -> DraftTree:
        finished = super().finish(tree)
        self._records.append(TreeRecord(self._policy, len(finished) - 1, tuple(self._widths), tuple(self._expanded)))
        return finished
