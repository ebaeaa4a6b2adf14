"""Trees of a shape that is fixed before anything is drafted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.base import Guess, NodeSlots
from univer.drafting.growth.estimates import candidates
from univer.drafting.shapes import Shape, parse_shape
from univer.tree import DraftTree


@dataclass(frozen=True)
class Static:
    """The policy that always drafts the same shape.

    Attributes:
        shape: the tree; for another sampling scheme than its own, the children of its nodes are split into fixed and
            sampled ones again.
    """

    shape: Shape

    @property
    def name(self) -> str:
        """Name of the shape."""
        return self.shape.name

    @property
    def max_nodes(self) -> int:
        """Number of nodes, root excluded."""
        return len(self.shape.parents) - 1

    @property
    def max_depth(self) -> int:
        """Depth of the shape."""
        return self.shape.depth

    def widest(self, law: str) -> Shape:
        """Return the shape itself, with the slots of the sampling scheme `law`."""
        return self.shape if self.shape.law == law else parse_shape(self.shape, law)

    def start(self, law: str, *, greedy: bool = False) -> StaticGrower:
        """Start a request."""
        return StaticGrower(self.widest(law))


class StaticGrower:
    """Grows one request's trees of a shape; there is nothing to learn.

    Args:
        shape: the tree with its sampling scheme.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._max_nodes = len(shape.parents) - 1
        # Upper parts of the shape that were used before.
        self._clipped = {(shape.depth, self._max_nodes): shape}

    def begin(self, depth: int, nodes: int | None = None) -> StaticGrowth:
        """Start a tree of at most `depth` levels and `nodes` nodes."""
        key = min(depth, self._shape.depth), self._max_nodes if nodes is None else min(nodes, self._max_nodes)
        if key not in self._clipped:
            self._clipped[key] = self._shape.clipped(*key)
        return StaticGrowth(self._clipped[key])

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Nothing to learn."""


class StaticGrowth:
    """One tree of a shape.

    Children take the places of the shape in the order in which they are drawn. If a slot is not created because no
    probability is left for it, what the shape plans below it is left out.

    Args:
        shape: the tree with its sampling scheme.
    """

    def __init__(self, shape: Shape) -> None:
        self.law = shape.law
        self.depth = shape.depth
        self._shape = shape
        self._children = shape.children
        self._place = {0: 0}

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        """Return the slots that the shape plans; the best tokens become the fixed children."""
        places = [self._place[node] for node in nodes]
        ranked = candidates(rows, max(self._shape.fixed[place] for place in places), guesses, tree.columns)
        return [
            NodeSlots(tuple(entry.token for entry in best[: self._shape.fixed[place]]), self._shape.sampled[place])
            for place, best in zip(places, ranked, strict=True)
        ]

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        """Return all new nodes for which the shape plans children."""
        for node in new:
            if node > 0:
                place = self._place[tree.parents[node]]
                first = self._shape.fixed[place] if tree.slots[node] == "sampled" else 0
                self._place[node] = self._children[place][first + tree.ranks[node]]
        return [node for node in new if self._children[self._place[node]]]

    def finish(self, tree: TreeBuilder) -> DraftTree:
        """Return the tree."""
        return tree.finish()
