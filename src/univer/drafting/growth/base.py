"""What a growth policy is: how many children every node gets, decided level by level while the tree is drafted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.guesses import Guess
from univer.drafting.shapes import Shape
from univer.drafting.slots import NodeSlots
from univer.tree import DraftTree

__all__ = ["Grower", "Growth", "Guess", "NodeSlots", "TreePolicy"]


class Growth(Protocol):
    """One tree while it grows.

    Attributes:
        law: draft law of the tree.
        depth: levels of children that the tree may have; 0 where there is nothing to draft.
    """

    @property
    def law(self) -> str: ...

    @property
    def depth(self) -> int: ...

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        """Decide what all nodes of one level get, before any of their children is drawn.

        Args:
            tree: everything drafted so far.
            nodes: `n` node ids.
            rows: their draft laws `Q_v`, `[n, D]`, by `tree.columns`; `[n, 0]` where the draft has guesses only.
            guesses: for each node what other sources propose, the better guess first, without duplicates.
        """
        ...

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        """Which of the nodes drawn last to expand next; the choice may depend on everything drafted so far.

        Args:
            tree: everything drafted so far.
            new: the nodes of the last level; the root at first.
        """
        ...

    def finish(self, tree: TreeBuilder) -> DraftTree:
        """The tree, once no node is left to expand."""
        ...


class Grower(Protocol):
    """Growth of one request's trees. It may learn from that request's own verdicts, and from nothing else."""

    def begin(self, depth: int, nodes: int | None = None) -> Growth:
        """Start a tree.

        Args:
            depth: levels of children that the text has room for, at least 0.
            nodes: most nodes, the root left out, where fewer are wanted than the policy's own limit.
        """
        ...

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Learn from a verdict.

        Args:
            tree: the tree of the last growth.
            path: its kept nodes, from the root's child down.
        """
        ...


@runtime_checkable
class TreePolicy(Protocol):
    """How trees grow. It keeps no state: that is its growers' task.

    Attributes:
        name: how the policy is called in reports.
        max_nodes: most nodes that a tree may have, the root left out.
        max_depth: most levels of children.
    """

    @property
    def name(self) -> str: ...

    @property
    def max_nodes(self) -> int: ...

    @property
    def max_depth(self) -> int: ...

    def widest(self, law: str) -> Shape:
        """A tree with the largest nodes that the policy can bring about, for checks before any work.

        Args:
            law: draft law that the verification method is made for, or `fixed` where nothing may be random.

        Raises:
            ValueError: the policy cannot draw trees by this law.
        """
        ...

    def start(self, law: str, *, greedy: bool) -> Grower:
        """Begin a request.

        Args:
            law: as for `widest`.
            greedy: whether the target decodes greedily, so that the draft laws only rank.

        Raises:
            ValueError: as `widest`.
        """
        ...
