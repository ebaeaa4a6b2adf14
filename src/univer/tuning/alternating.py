"""A growth policy that alternates between several others and records what each tree asked of the draft."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class AlternatingPolicy:
    """Alternates between policies from tree to tree: the one used least often so far comes next, ties at random.

    With a single policy it grows that policy's trees and records them.

    Args:
        policies: the policies.
        seed: random seed for ties.

    Attributes:
        records: one entry per finished tree, in order.
        counts: number of trees started by each policy.
        growers: growers of the requests started, in order.
    """

    policies: tuple[TreePolicy, ...]
    seed: int = 0
    records: list[TreeRecord] = field(default_factory=list, compare=False)
    counts: list[int] = field(default_factory=list, compare=False)
    growers: list[AlternatingGrower] = field(default_factory=list, compare=False)

    @property
    def name(self) -> str:
        """Names of the policies."""
        return " or ".join(policy.name for policy in self.policies)

    @property
    def max_nodes(self) -> int:
        """Largest number of nodes of any of them."""
        return max(policy.max_nodes for policy in self.policies)

    @property
    def max_depth(self) -> int:
        """Largest number of levels of any of them."""
        return max(policy.max_depth for policy in self.policies)

    def widest(self, law: str) -> Shape:
        """Return the widest tree of the policy with the most nodes."""
        return max((policy.widest(law) for policy in self.policies), key=lambda shape: len(shape.parents))

    def start(self, law: str, *, greedy: bool = False) -> AlternatingGrower:
        """Start a request with all policies."""
        self.growers.append(AlternatingGrower(self, [policy.start(law, greedy=greedy) for policy in self.policies]))
        return self.growers[-1]


class AlternatingGrower:
    """Grows one request's trees by alternating policies; each policy learns from its own trees.

    Args:
        policy: the policies with their records.
        growers: their growers.
    """

    def __init__(self, policy: AlternatingPolicy, growers: Sequence[Grower]) -> None:
        self._policy = policy
        self._growers = growers
        self._random = random.Random(policy.seed)
        self._current = 0
        if not policy.counts:
            policy.counts.extend([0] * len(growers))

    def begin(self, depth: int, nodes: int | None = None) -> Growth:
        """Start a tree with the policy that comes next."""
        counts = self._policy.counts
        least = min(counts)
        self._current = self._random.choice([index for index, count in enumerate(counts) if count == least])
        counts[self._current] += 1
        return _RecordedGrowth(self._growers[self._current].begin(depth, nodes), self._current, self._policy.records)

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
