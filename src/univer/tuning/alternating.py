"""A growth policy that alternates between several others and records what each tree asked of the draft."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Grower, Growth, Guess, NodeSlots, TreePolicy
from univer.drafting.growth.base import WrappedGrowth
from univer.drafting.shapes import Shape
from univer.tree import DraftTree


@dataclass(frozen=True)
class TreeRecord:
    """What one tree asked of the draft, and the time of its round if it was measured.

    Attributes:
        policy: index of the policy that grew it.
        nodes: number of nodes of the finished tree, root excluded.
        widths: number of nodes that the draft read on each level, the root's level first.
        expanded: ids of these nodes while the tree grew.
        seconds: time of the round by phase of the engine; empty if it was not measured.
    """

    policy: int
    nodes: int
    widths: tuple[int, ...]
    expanded: tuple[int, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """Time of all phases."""
        return sum(self.seconds.values())


class AlternatingPolicy:
    """Alternates between policies from tree to tree: one tree of each in random order, then one of each again.

    With a single policy it grows that policy's trees and records them. It is its own grower, so it serves one request
    at a time; each policy learns from its own trees.

    Args:
        policies: the policies.
        seed: random seed of the order.

    Attributes:
        records: one entry per finished tree, in order.
    """

    def __init__(self, policies: Sequence[TreePolicy], seed: int = 0) -> None:
        self.name = " or ".join(policy.name for policy in policies)
        self.max_nodes = max(policy.max_nodes for policy in policies)
        self.max_depth = max(policy.max_depth for policy in policies)
        self.records: list[TreeRecord] = []
        self._policies = policies
        self._random = random.Random(seed)
        self._growers: list[Grower] = []
        self._coming: list[int] = []
        self._current = 0

    def widest(self, law: str) -> Shape:
        """Return the widest tree of the policy with the most nodes."""
        return max((policy.widest(law) for policy in self._policies), key=lambda shape: len(shape.parents))

    def start(self, law: str, *, greedy: bool = False) -> AlternatingPolicy:
        """Start a request with all policies."""
        self._growers = [policy.start(law, greedy=greedy) for policy in self._policies]
        return self

    def begin(self, depth: int, nodes: int | None = None) -> Growth:
        """Start a tree with the policy that comes next."""
        if not self._coming:
            self._coming = self._random.sample(range(len(self._policies)), len(self._policies))
        self._current = self._coming.pop()
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
