"""What both couplings share: the one-step problems of a forest, block by block, and the allocation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from univer.laws import normalise
from univer.rules.base import Rule, Siblings
from univer.topology import Group, Ints
from univer.tree import Forest, index, places_of, rows_of

# Entries of one block of rows: large enough to hide the cost of calls, small beside a copy of the distributions.
BLOCK_ENTRIES = {"cpu": 1 << 19}
BLOCK_ENTRIES_ELSEWHERE = 1 << 25


@dataclass(frozen=True)
class Allocation:
    """What a coupling knows of every node before any uniform is drawn.

    Attributes:
        scale: prefix scale `a_v` of every node, `[M]`.
        accept: lifted: probability that the node's own test succeeds; stepwise: that the node is followed when it is
            tested, `[M]`.
        position: place of every node in the post-order of the whole forest, `[M]`; None where no post-order is used.
    """

    scale: Tensor
    accept: Tensor
    position: Tensor | None = None


class TreeCoupling(Protocol):
    """How the levels of a tree are coupled: from a one-step rule to the distribution of the kept path.

    Attributes:
        name: how the coupling is called.
        uses_order: whether the sibling order matters to it.
    """

    name: str
    uses_order: bool

    def allocate(self, forest: Forest, target_laws: Tensor, rule: Rule, order: str) -> Allocation:
        """Scales and acceptance probabilities of all nodes.

        Args:
            forest: `B` trees with `M` nodes in all.
            target_laws: target distributions `[M, V]`, float32 or float64.
            rule: the one-step rule.
            order: sibling order.

        Returns:
            The allocation, in the dtype and on the device of `target_laws`.

        Raises:
            ValueError: a distribution contains a NaN.
        """
        ...

    def end_distribution(self, forest: Forest, allocation: Allocation) -> Tensor:
        """Probability that the path of its tree ends at each node, `[M]`."""
        ...

    def end_nodes(
        self, forest: Forest, target_laws: Tensor, rule: Rule, order: str, uniforms: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The node at which each tree's path ends.

        Args:
            forest: `B` trees with `M` nodes in all.
            target_laws: target distributions `[M, V]`, float32 or float64.
            rule: the one-step rule.
            order: sibling order.
            uniforms: one per node, `[M]`, float64, in [0, 1), on the device of `target_laws`.

        Returns:
            Node ids `[B]`, int64, and the prefix scales of these nodes `[B]`.

        Raises:
            ValueError: a distribution contains a NaN.
        """
        ...


def blocks(group: Group, target_laws: Tensor) -> Iterator[Group]:
    """Cut a group into blocks of rows that are small enough to be worked on at once."""
    entries = BLOCK_ENTRIES.get(target_laws.device.type, BLOCK_ENTRIES_ELSEWHERE)
    count = max(1, entries // target_laws.shape[1])
    for start in range(0, len(group.nodes), count):
        part = slice(start, start + count)
        yield Group(group.nodes[part], group.children[part], group.fixed, group.sampled)


def siblings_of(forest: Forest, target_laws: Tensor, group: Group, scale: Tensor) -> Siblings:
    """The one-step problem at the nodes of a group.

    Args:
        forest: `M` nodes in all.
        target_laws: target distributions `[M, V]`.
        group: `n` nodes with equal numbers of fixed and sampled children.
        scale: their prefix scales `[n]`.
    """
    target = rows_of(target_laws, group.nodes, target_laws.device)
    draft = forest.sampling_distribution(group).to(target) if group.sampled else None
    tokens = forest.tokens[index(group.children, forest.device)].to(target.device)
    return Siblings(target, draft, scale, tokens, group.fixed, forest.law)


def check_masses(masses: Sequence[Tensor]) -> None:
    """Raise if a probability that the rule gave is NaN; one transfer from the device for all nodes.

    Args:
        masses: probabilities, any shapes.

    Raises:
        ValueError: one is NaN.
    """
    if masses and bool(torch.stack([mass.sum() for mass in masses]).isnan().any()):
        raise ValueError("a target or draft distribution contains a NaN: check the logits that it was made from")


def next_token_distributions(forest: Forest, target_laws: Tensor, rule: Rule, nodes: Ints, scale: Tensor) -> Tensor:
    """Distribution of the next token where the path ends: the residual at an inner node, `P_v` at a leaf.

    An all-zero residual, which only rounding can bring about where the path really ends, falls back to `P_v`.

    Args:
        forest: `M` nodes in all.
        target_laws: target distributions `[M, V]`.
        rule: the one-step rule.
        nodes: node ids `[n]`.
        scale: their prefix scales `[n]`.

    Returns:
        Distributions `[n, V]`, a new tensor.
    """
    found = rows_of(target_laws, nodes, target_laws.device).clone()
    inner = forest.topology.child_counts[nodes] > 0
    for group in forest.topology.groups(nodes[inner]):
        for block in blocks(group, target_laws):
            rows = index(places_of(block.nodes, nodes), found.device)
            residual = rule.residual(siblings_of(forest, target_laws, block, scale[rows]))
            mass = residual.sum(-1, keepdim=True)
            found[rows] = torch.where(mass > 0, normalise(residual), found[rows])
    return found
