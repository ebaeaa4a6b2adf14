"""Static tree shapes: how many children each node is planned to have, and how many of them are sampled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from univer.tree import DRAFT_LAWS

# The 25 nodes of EAGLE (Li et al., arXiv 2401.15077), as paths of child ranks.
EAGLE_CHOICES: tuple[tuple[int, ...], ...] = (
    *((0,), (1,), (2,), (3,)),
    *((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0)),
    *((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 2, 1), (1, 0, 0)),
    *((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 0, 0, 0), (0, 0, 0, 0, 1)),
)

# A tree is read in one target pass with an N x N mask; larger trees would run out of memory before they paid off.
LARGEST_TREE = 4096

TREE_FORMS = (
    "use a name such as '2x5', '3x3', 'chain-5', 'eagle' or 'grow', a list of parents such as [-1, 0, 0, 1], "
    "a list of paths such as [[0], [1], [0, 0]], or a Shape"
)


@dataclass(frozen=True)
class Shape:
    """A tree whose nodes are planned before anything is drafted.

    Attributes:
        name: name of the shape in reports.
        parents: parent of every node, `[N]`, -1 for node 0; parents before children, siblings by rank.
        law: sampling scheme of the children.
        fixed: number of fixed children planned at each node, `[N]`.
        sampled: number of sampled children planned at each node, `[N]`.
    """

    name: str
    parents: tuple[int, ...]
    law: str
    fixed: tuple[int, ...]
    sampled: tuple[int, ...]

    @property
    def children(self) -> list[list[int]]:
        """Children of every node by rank."""
        table: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents[1:], start=1):
            table[parent].append(node)
        return table

    @property
    def depth(self) -> int:
        """Depth of the deepest node."""
        return max(depths_of(self.parents))

    def clipped(self, depth: int, nodes: int | None = None) -> Shape:
        """Return the upper part of this shape.

        Args:
            depth: largest number of levels of children.
            nodes: largest number of nodes, root excluded; upper levels are kept first, and within a level the first
                nodes.
        """
        depths = depths_of(self.parents)
        reached = [node for node in range(len(depths)) if depths[node] <= depth]
        keep = sorted(sorted(reached, key=lambda node: depths[node])[: None if nodes is None else nodes + 1])
        place = {node: position for position, node in enumerate(keep)}
        counts = [sum(child in place for child in self.children[node]) for node in keep]
        # The first children of a node are its fixed ones.
        fixed = [min(self.fixed[node], count) for node, count in zip(keep, counts, strict=True)]
        return Shape(
            self.name,
            tuple(-1 if node == 0 else place[self.parents[node]] for node in keep),
            self.law,
            tuple(fixed),
            tuple(total - first for total, first in zip(counts, fixed, strict=True)),
        )


def depths_of(parents: Sequence[int]) -> list[int]:
    """Return the depth of every node of a parent list, 0 for the root."""
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    return depths


def with_slots(name: str, law: str, depth: int, slots: Sequence[tuple[int, int]]) -> Shape:
    """Make a shape of a single path of inner nodes, one per level, with the given slots.

    Args:
        name: name of the shape.
        law: sampling scheme.
        depth: number of levels.
        slots: numbers of fixed and of sampled children of the inner nodes, from the root down; the last pair repeats.

    Example:
        >>> with_slots("wide", "greedy", 3, [(2, 1), (0, 1)]).parents
        (-1, 0, 0, 0, 1, 4)
    """
    parents, fixed, sampled, node = [-1], [0], [0], 0
    for level in range(depth):
        fixed[node], sampled[node] = slots[min(level, len(slots) - 1)]
        first = len(parents)
        for _ in range(fixed[node] + sampled[node]):
            parents.append(node)
            fixed.append(0)
            sampled.append(0)
        node = first
    return Shape(name, tuple(parents), law, tuple(fixed), tuple(sampled))


def split_slots(count: int, law: str, sampled: int | None = None) -> tuple[int, int]:
    """Split a node's children into fixed and sampled ones.

    Args:
        count: number of children, at least 1.
        law: sampling scheme.
        sampled: for `mixed`, the number of sampled children; by default 2 of four or more children, else 1.

    Returns:
        `(fixed, sampled)`.

    Raises:
        ValueError: the sampling scheme is unknown or does not allow so many children.

    Example:
        >>> split_slots(4, "greedy"), split_slots(4, "mixed"), split_slots(4, "swor")
        ((3, 1), (2, 2), (0, 4))
    """
    if law not in DRAFT_LAWS:
        raise ValueError(f"unknown sampling scheme {law!r}; choose one of {', '.join(DRAFT_LAWS)}")
    if law == "chain" and count > 1:
        raise ValueError(
            f"a chain has one child per node, but a node of this shape has {count}: use a shape such as 'chain-5'"
        )
    if law == "mixed":
        random = min(count, (2 if count >= 4 else 1) if sampled is None else sampled)
    else:
        random = {"iid": count, "swor": count, "fixed": 0, "greedy": 1, "chain": 1}[law]
    return count - random, random


def from_parents(
    parents: Sequence[int], law: str = "greedy", name: str = "parents", sampled: int | None = None
) -> Shape:
    """Make a shape from a parent list.

    Args:
        parents: parent of every node, `[N]`; `parents[0] == -1`, every parent before its children.
        law: sampling scheme.
        name: name of the shape in reports.
        sampled: number of sampled children per node under `mixed`.

    Raises:
        ValueError: it is not such a list, or has more than `LARGEST_TREE` nodes.

    Example:
        >>> from_parents([-1, 0, 0, 1]).fixed
        (1, 0, 0, 0)
    """
    if len(parents) > LARGEST_TREE:
        raise ValueError(_too_large(name))
    if not parents or parents[0] != -1:
        raise ValueError("a parent list starts with -1, the root")
    for node, parent in enumerate(parents[1:], start=1):
        if not 0 <= parent < node:
            raise ValueError(f"node {node} has parent {parent}: list parents before their children")
    counts = [0] * len(parents)
    for parent in parents[1:]:
        counts[parent] += 1
    split = [split_slots(count, law, sampled) if count else (0, 0) for count in counts]
    return Shape(name, tuple(parents), law, tuple(pair[0] for pair in split), tuple(pair[1] for pair in split))


def balanced(width: int, depth: int, law: str = "greedy", sampled: int | None = None) -> Shape:
    """Make a shape in which every node down to depth `depth - 1` has `width` children: the paper's `m x L` trees.

    Raises:
        ValueError: a negative size, or more than `LARGEST_TREE` nodes.

    Example:
        >>> len(balanced(2, 5).parents)
        63
    """
    if width < 1 or depth < 0:
        raise ValueError(f"a balanced tree needs a width of at least 1 and a depth of at least 0, got {width}x{depth}")
    parents, level = [-1], [0]
    for _ in range(depth):
        if len(parents) + len(level) * width > LARGEST_TREE:
            raise ValueError(_too_large(f"{width}x{depth}"))
        start = len(parents)
        parents += [parent for parent in level for _ in range(width)]
        level = list(range(start, len(parents)))
    return from_parents(parents, law, f"{width}x{depth}", sampled)


def choices(
    paths: Sequence[Sequence[int]], law: str = "greedy", name: str = "choices", sampled: int | None = None
) -> Shape:
    """Make a shape from Medusa-style choices: each path lists the child ranks from the root to a node.

    Raises:
        ValueError: the prefix of a path or a sibling of lower rank is missing.

    Example:
        >>> choices([[0], [1], [0, 0]]).parents
        (-1, 0, 0, 1)
    """
    known: dict[tuple[int, ...], int] = {(): 0}
    parents = [-1]
    for path in sorted((tuple(path) for path in paths), key=lambda path: (len(path), path)):
        if not path or path in known:
            raise ValueError(f"the path {list(path)} is empty or listed twice")
        if path[:-1] not in known:
            raise ValueError(f"the path {list(path)} misses its prefix {list(path[:-1])}")
        if path[-1] != 0 and (*path[:-1], path[-1] - 1) not in known:
            raise ValueError(f"the path {list(path)} leaves a gap: its sibling of rank {path[-1] - 1} is missing")
        known[path] = len(parents)
        parents.append(known[path[:-1]])
    return from_parents(parents, law, name, sampled)


def parse_shape(
    spec: str | Sequence[int] | Sequence[Sequence[int]] | Shape, law: str = "greedy", sampled: int | None = None
) -> Shape:
    """Return the shape that a user names.

    Args:
        spec: `"2x5"` (balanced), `"chain-5"`, `"eagle"` (its 25 nodes), a parent list, a list of choices, or a shape.
        law: sampling scheme of the children.
        sampled: number of sampled children per node under `mixed`.

    Raises:
        ValueError: it is not a tree, is too large, or does not fit the sampling scheme.

    Example:
        >>> parse_shape("chain-3", law="chain").parents
        (-1, 0, 1, 2)
    """
    if isinstance(spec, Shape):
        return from_parents(spec.parents, law, spec.name, sampled)
    if isinstance(spec, str):
        if match := re.fullmatch(r"(\d+)x(\d+)", spec):
            return balanced(int(match[1]), int(match[2]), law, sampled)
        if match := re.fullmatch(r"chain[-:]?(\d+)", spec):
            return from_parents(range(-1, int(match[1])), law, f"chain-{match[1]}", sampled)
        if spec == "eagle":
            return choices(EAGLE_CHOICES, law, "eagle", sampled)
        raise ValueError(
            f"unknown tree {spec!r}: use e.g. '2x5', '3x3', 'chain-5', 'eagle', a policy of growing trees ('grow', "
            "'eagle2', 'opt'), a parent list or a list of choices"
        )
    entries: list[Any] = list(spec) if _is_list(spec) else [spec]
    if _is_list(spec) and all(_is_integer(entry) for entry in entries):
        return from_parents(entries, law, sampled=sampled)
    if not _is_list(spec) or not all(_is_path(entry) or _is_integer(entry) for entry in entries):
        raise ValueError(f"{_shortened(spec)} is not a tree: {TREE_FORMS}; all entries are integers")
    if not all(_is_path(entry) for entry in entries):
        raise ValueError("a tree is a list of parents or a list of paths, not both")
    return choices(entries, law, sampled=sampled)


def _is_integer(entry: object) -> bool:
    return isinstance(entry, int) and not isinstance(entry, bool)


def _is_list(entry: object) -> bool:
    return isinstance(entry, Sequence) and not isinstance(entry, str | bytes)


def _is_path(entry: Any) -> bool:
    return _is_list(entry) and all(_is_integer(rank) for rank in entry)


def _shortened(spec: object) -> str:
    text = repr(spec)
    return text if len(text) <= 60 else text[:57] + "..."


def _too_large(name: str) -> str:
    return f"the tree {name!r} has more than {LARGEST_TREE} nodes, the largest size supported: choose a smaller one"
