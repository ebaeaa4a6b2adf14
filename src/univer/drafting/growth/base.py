"""What a growth policy is: it decides, level by level, how many children every node of a drafted tree gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.guesses import Guess
from univer.drafting.shapes import LARGEST_TREE, Shape
from univer.drafting.slots import NodeSlots
from univer.tree import DraftTree

__all__ = [
    "SHORT_NAMES",
    "Grower",
    "Growth",
    "Guess",
    "NodeSlots",
    "TreePolicy",
    "WrappedGrowth",
    "check_number",
    "check_size",
    "policy_name",
]

# What the text form of a policy calls its fields, where not by their own names.
SHORT_NAMES = {"max_nodes": "nodes", "max_depth": "depth", "score_temperature": "temperature", "mean_nodes": "mean"}


class Growth(Protocol):
    """One tree while it grows.

    Attributes:
        law: sampling scheme of the children, e.g. `"greedy"`.
        depth: most levels of children; 0 if there is nothing to draft.
    """

    law: str
    depth: int

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        """Decide the slots of all nodes of one level, before any of their children is drawn.

        Args:
            tree: everything drafted so far.
            nodes: `n` node ids.
            rows: their draft distributions `Q_v`, `[n, D]`; `tree.columns` says which token each column stands for.
                `[n, 0]` for a draft that only has guesses.
            guesses: for each node the tokens that other sources propose, best first, without duplicates.

        Returns:
            The slots of each node.
        """
        ...

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        """Choose which of the newest nodes to expand; the choice may depend on everything drafted so far.

        Args:
            tree: everything drafted so far.
            new: the nodes of the last level; at first the root.

        Returns:
            Node ids, none to stop growing.
        """
        ...

    def finish(self, tree: TreeBuilder) -> DraftTree:
        """Make the finished tree, once no node is left to expand."""
        ...


class WrappedGrowth:
    """A growth that passes everything on to another one; subclasses override what they change.

    Args:
        growth: the other growth.
    """

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self.law, self.depth = growth.law, growth.depth

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        """Decide the slots of all nodes of one level; see `Growth`."""
        return self.growth.slots(tree, nodes, rows, guesses)

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        """Choose which of the newest nodes to expand; see `Growth`."""
        return self.growth.frontier(tree, new)

    def finish(self, tree: TreeBuilder) -> DraftTree:
        """Make the finished tree; see `Growth`."""
        return self.growth.finish(tree)


class Grower(Protocol):
    """Grows the trees of one request. It may learn from that request's own verdicts, and from nothing else."""

    def begin(self, depth: int, nodes: int | None = None) -> Growth:
        """Start a tree.

        Args:
            depth: levels of children for which the text has room, at least 0.
            nodes: node budget (root excluded), if it is below the policy's own limit.
        """
        ...

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Learn from a verdict.

        Args:
            tree: the tree grown last.
            path: its kept nodes, from the root's child down.
        """
        ...


@runtime_checkable
class TreePolicy(Protocol):
    """How trees grow. A policy keeps no state; its growers do.

    Attributes:
        name: name of the policy in reports.
        max_nodes: largest number of nodes of a tree, root excluded.
        max_depth: largest number of levels of children.
    """

    @property
    def name(self) -> str: ...

    @property
    def max_nodes(self) -> int: ...

    @property
    def max_depth(self) -> int: ...

    def widest(self, law: str) -> Shape:
        """Return a tree with the largest nodes that the policy can produce, for checks before any work starts.

        Args:
            law: sampling scheme that the verification method needs, or `"fixed"` if nothing may be random.

        Raises:
            ValueError: the policy does not support this sampling scheme.
        """
        ...

    def start(self, law: str, *, greedy: bool) -> Grower:
        """Start a request.

        Args:
            law: as for `widest`.
            greedy: whether the target decodes greedily, so that draft distributions only rank tokens.

        Raises:
            ValueError: as for `widest`.
        """
        ...


def check_number(policy: str, name: str, value: object, low: float, high: float, *, whole: bool = False) -> None:
    """Check that a parameter of a policy is a number in range.

    Raises:
        ValueError: it is not; the message names policy, parameter and range.

    Example:
        >>> check_number("eagle2", "depth", 0, 1, 64, whole=True)
        Traceback (most recent call last):
        ...
        ValueError: the tree policy 'eagle2' needs a whole number from 1 to 64 for depth, got 0
    """
    sound = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not sound or not low <= value <= high:  # type: ignore[operator]
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"the tree policy {policy!r} needs {kind} from {low} to {high} for {name}, got {value!r}")


def check_size(policy: str, max_nodes: object, max_depth: object, width: object) -> None:
    """Check the numbers of nodes, of levels and of children per node of a policy.

    Raises:
        ValueError: as for `check_number`.
    """
    check_number(policy, "nodes", max_nodes, 1, LARGEST_TREE - 1, whole=True)
    check_number(policy, "depth", max_depth, 1, 64, whole=True)
    check_number(policy, "top_k", width, 1, 256, whole=True)


def policy_name(kind: str, policy: Any) -> str:
    """Return the text form of a policy: its kind and the parameters that differ from their defaults."""
    changed = [
        f"{SHORT_NAMES.get(field.name, field.name)}={getattr(policy, field.name):g}"
        for field in fields(policy)
        if field.default is MISSING or getattr(policy, field.name) != field.default
    ]
    return kind + (":" + ",".join(changed) if changed else "")
