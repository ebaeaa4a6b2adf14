"""A policy that lets others take turns and notes what every tree cost the draft."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Grower, Growth, Guess, NodeSlots, TreePolicy
from univer.drafting.shapes import Shape
from univer.tree import DraftTree


@dataclass(frozen=True)
class Seen:
    """What a tree asked of the draft.

    Attributes:
        policy: number of the policy that grew it.
        nodes: nodes of the finished tree, the root left out.
        widths: nodes that were read at every level, the root's first.
        asked: ids of these nodes while the tree grew.
    """

    policy: int
    nodes: int
    widths: tuple[int, ...]
    asked: tuple[int, ...]


@dataclass(frozen=True)
class Turns:
    """Several policies that take turns from tree to tree: those used least so far first, by lot among equals.

    With one policy this is that policy, watched.

    Args:
        policies: the policies.
        seed: of the lots.

    Attributes:
        log: one entry per finished tree, in order.
        counts: trees begun by each policy.
        started: growers of the requests begun, in order.
    """

    policies: tuple[TreePolicy, ...]
    seed: int = 0
    log: list[Seen] = field(default_factory=list, compare=False)
    counts: list[int] = field(default_factory=list, compare=False)
    started: list[TurnsGrower] = field(default_factory=list, compare=False)

    @property
    def name(self) -> str:
        """Names of the policies."""
        return " or ".join(policy.name for policy in self.policies)

    @property
    def max_nodes(self) -> int:
        """Most nodes of any of them."""
        return max(policy.max_nodes for policy in self.policies)

    @property
    def max_depth(self) -> int:
        """Most levels of any of them."""
        return max(policy.max_depth for policy in self.policies)

    def widest(self, law: str) -> Shape:
        """That of the policy with the most nodes."""
        return max((policy.widest(law) for policy in self.policies), key=lambda shape: len(shape.parents))

    def start(self, law: str, *, greedy: bool = False) -> TurnsGrower:
        """Begin a request of all of them."""
        self.started.append(TurnsGrower(self, [policy.start(law, greedy=greedy) for policy in self.policies]))
        return self.started[-1]


class TurnsGrower:
    """Growth of one request's trees by policies in turn; each learns from its own trees.

    Args:
        turns: the policies and the log.
        growers: their growers.
    """

    def __init__(self, turns: Turns, growers: Sequence[Grower]) -> None:
        self._turns = turns
        self._growers = growers
        self._lots = random.Random(turns.seed)
        self._current = 0
        if not turns.counts:
            turns.counts.extend([0] * len(growers))

    def begin(self, depth: int, nodes: int | None = None) -> Growth:
        """Start a tree of the policy whose turn it is."""
        counts = self._turns.counts
        least = min(counts)
        self._current = self._lots.choice([number for number, count in enumerate(counts) if count == least])
        counts[self._current] += 1
        return _Watched(self._growers[self._current].begin(depth, nodes), self._current, self._turns.log)

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Let the policy of the last tree learn."""
        self._growers[self._current].settle(tree, path)


class _Watched:
    """A growth whose levels are counted; all decisions are its own."""

    def __init__(self, growth: Growth, policy: int, log: list[Seen]) -> None:
        self._growth = growth
        self._policy = policy
        self._log = log
        self._widths: list[int] = []
        self._asked: list[int] = []

    @property
    def law(self) -> str:
        return self._growth.law

    @property
    def depth(self) -> int:
        return self._growth.depth

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        self._widths.append(len(nodes))
        self._asked += nodes
        return self._growth.slots(tree, nodes, rows, guesses)

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        return self._growth.frontier(tree, new)

    def finish(self, tree: TreeBuilder) -> DraftTree:
        finished = self._growth.finish(tree)
        self._log.append(Seen(self._policy, len(finished) - 1, tuple(self._widths), tuple(self._asked)))
        return finished
