"""The shape of one or several drafted trees as flat arrays on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

ROOT, FIXED, SAMPLED = 0, 1, 2
SLOT_NAMES = ("root", "fixed", "sampled")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Group:
    """Inner nodes of one depth that have the same numbers of fixed and of sampled children.

    Attributes:
        nodes: node ids, `[n]`.
        children: ids of their children in the order drawn, `[n, fixed + sampled]`.
        fixed: number of fixed children (they come first).
        sampled: number of sampled children.
    """

    nodes: Ints
    children: Ints
    fixed: int
    sampled: int


class Topology:
    """Parents, slots and derived index tables of a forest; node ids are global over its trees.

    Args:
        parents: `[M]` int64, -1 for a root; parents come before children.
        slots: `[M]` int64 of `ROOT`, `FIXED`, `SAMPLED`.

    Raises:
        ValueError: a parent does not come before its child.
    """

    def __init__(self, parents: Sequence[int] | Ints, slots: Sequence[int] | Ints) -> None:
        self.parents: Ints = np.asarray(parents, dtype=np.int64)
        self.slots: Ints = np.asarray(slots, dtype=np.int64)
        late = np.nonzero(self.parents >= np.arange(len(self.parents)))[0]
        if len(late):
            raise ValueError(f"node {late[0]} comes before its parent {self.parents[late[0]]}: list parents first")

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def roots(self) -> Ints:
        """Ids of the roots `[B]`."""
        return np.nonzero(self.parents < 0)[0]

    @cached_property
    def depths(self) -> Ints:
        """Depth of every node `[M]`, 0 at the roots."""
        depths = np.zeros(len(self), dtype=np.int64)
        ancestors = self.parents.copy()
        while (alive := ancestors >= 0).any():
            depths += alive
            ancestors = np.where(alive, self.parents[ancestors], -1)
        return depths

    @cached_property
    def child_counts(self) -> Ints:
        """Number of children of every node `[M]`."""
        return np.bincount(self.parents[self.parents >= 0], minlength=len(self))

    @cached_property
    def children(self) -> Ints:
        """Children of every node in the order drawn `[M, widest]`, padded with -1."""
        table = np.full((len(self), int(self.child_counts.max(initial=0))), -1, dtype=np.int64)
        nodes = np.nonzero(self.parents >= 0)[0]
        nodes = nodes[np.argsort(self.parents[nodes], kind="stable")]
        first = np.cumsum(self.child_counts) - self.child_counts
        table[self.parents[nodes], np.arange(len(nodes)) - first[self.parents[nodes]]] = nodes
        return table

    @cached_property
    def fixed_counts(self) -> Ints:
        """Number of fixed children of every node `[M]`."""
        return np.bincount(self.parents[self.slots == FIXED], minlength=len(self))

    @cached_property
    def levels(self) -> list[list[Group]]:
        """Inner nodes by depth, each depth split into groups of equal numbers of fixed and sampled children."""
        inner = np.nonzero(self.child_counts > 0)[0]
        depths = self.depths[inner]
        return [self.groups(inner[depths == depth]) for depth in range(int(depths.max(initial=-1)) + 1)]

    def groups(self, nodes: Ints) -> list[Group]:
        """Split inner nodes into groups of equal numbers of fixed and sampled children, their order kept.

        Args:
            nodes: ids of nodes that have children, `[n]`.

        Returns:
            The groups, those with fewer fixed children first.
        """
        base = int(self.child_counts.max(initial=0)) + 1
        kinds = self.fixed_counts[nodes] * base + self.child_counts[nodes]
        groups = []
        for kind in sorted(set(kinds.tolist())):
            (fixed, total), members = divmod(kind, base), nodes[kinds == kind]
            groups.append(Group(members, self.children[members, :total], fixed, total - fixed))
        return groups

    @cached_property
    def trees(self) -> Ints:
        """Index of the tree that every node belongs to `[M]`."""
        return np.cumsum(self.parents < 0) - 1

    @cached_property
    def sizes(self) -> Ints:
        """Number of nodes in the subtree of every node `[M]`, itself included."""
        sizes = np.ones(len(self), dtype=np.int64)
        for depth in range(int(self.depths.max(initial=0)), 0, -1):
            nodes = np.nonzero(self.depths == depth)[0]
            np.add.at(sizes, self.parents[nodes], sizes[nodes])
        return sizes

    def path(self, node: int) -> list[int]:
        """Nodes from the child of the root down to `node`; empty for the root."""
        path: list[int] = []
        while self.parents[node] >= 0:
            path.append(node)
            node = int(self.parents[node])
        return path[::-1]

    @staticmethod
    def union(parts: Sequence[Topology]) -> Topology:
        """The disjoint union: the nodes of the parts one after the other."""
        offsets = np.cumsum([0] + [len(part) for part in parts])
        parents = [
            np.where(part.parents < 0, -1, part.parents + start) for part, start in zip(parts, offsets, strict=False)
        ]
        return Topology(np.concatenate(parents), np.concatenate([part.slots for part in parts]))

    def repeat(self, count: int) -> Topology:
        """The disjoint union of `count` copies of this topology."""
        offsets = np.repeat(np.arange(count) * len(self), len(self))
        parents = np.tile(self.parents, count)
        return Topology(np.where(parents < 0, -1, parents + offsets), np.tile(self.slots, count))


def lines_of_descent(before: Bools, parents: Sequence[int]) -> Bools:
    """Which nodes each node sees, itself included, when further nodes are added.

    Args:
        before: `[m, m]`, of the nodes so far.
        parents: of the `n` further nodes: the number of each one's parent among all, or -1; parents come first.

    Returns:
        `[m + n, m + n]`.

    Example:
        >>> lines_of_descent(np.ones((1, 1), dtype=bool), [0, 1, -1]).astype(int).tolist()
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1]]
    """
    first, total = len(before), len(before) + len(parents)
    seen = np.zeros((total, total), dtype=bool)
    seen[:first, :first] = before
    for node, parent in enumerate(parents, start=first):
        if parent >= 0:
            seen[node] = seen[parent]
        seen[node, node] = True
    return seen
