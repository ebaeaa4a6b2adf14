"""The best static tree of every size and depth, by dynamic programming over acceptance probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from univer.drafting.shapes import depths_of
from univer.topology import Floats

Chances = Sequence[Sequence[Sequence[float]]]
# A tree as the subtrees of the children of its root.
Nested = tuple["Nested", ...]


@dataclass(frozen=True)
class Plan:
    """A static tree with its expected acceptance.

    Attributes:
        parents: `[N]`, -1 for the root, level by level, siblings by rank.
        accepted: expected number of accepted tokens per round.
    """

    parents: tuple[int, ...]
    accepted: float

    @property
    def nodes(self) -> int:
        """Number of drafted nodes, root excluded."""
        return len(self.parents) - 1

    @property
    def widths(self) -> list[int]:
        """Number of inner nodes by depth, which is what the draft reads on each level."""
        return inner_widths(self.parents)


def inner_widths(parents: Sequence[int]) -> list[int]:
    """Count the inner nodes by depth.

    Example:
        >>> inner_widths([-1, 0, 0, 1, 1, 2])
        [1, 2]
    """
    depths = depths_of(parents)
    widths = [0] * (max(depths) + 1)
    for node in set(parents) - {-1}:
        widths[depths[node]] += 1
    return widths[:-1] if len(widths) > 1 else []


def best_plans(chances: Chances, max_nodes: int, max_depth: int) -> Iterator[Plan]:
    r"""Find the trees with the most accepted tokens, one for every number of nodes and every depth limit.

    Let `p_d(m, j)` be the probability that a round which keeps a node of depth `d` with `m` children continues to the
    `j`-th of them. The best subtree of `n` nodes below a node of depth `d` adds

        F_d(n) = max over m >= 1 and n_1 + .. + n_m = n - m of sum_j p_d(m, j) (1 + F_{d+1}(n_j)),    F_d(0) = 0,

    accepted tokens, and `F = -inf` if the depth limit leaves no room. This is the dynamic programme of Sequoia, except
    that the probabilities may depend on the number of siblings, as they do for rules with sampled children. Cost for a
    depth limit `D`: `O(D M^2 N^2)`.

    Args:
        chances: `p_d(m, j)` as `chances[d][m - 1][j]`; below the last depth its last entry holds. Sums over `j` are at
            most 1.
        max_nodes: largest number of nodes, root excluded.
        max_depth: largest depth.

    Yields:
        For every depth limit from 1 on, the best tree of every size that has nodes at that depth.

    Raises:
        ValueError: a limit below 1 or an empty table.

    References:
        Chen et al., "Sequoia", arXiv 2402.12374, section 4.1.

    Example:
        >>> [(plan.parents, plan.accepted) for plan in best_plans([[[0.5], [0.5, 0.25]]], 2, 2)]
        [((-1, 0), 0.5), ((-1, 0, 0), 0.75), ((-1, 0, 1), 0.75)]
    """
    if max_nodes < 1 or max_depth < 1:
        raise ValueError(f"a planned tree needs at least one node and one level, got {max_nodes} and {max_depth}")
    if not chances or not chances[0]:
        raise ValueError("there are no acceptance probabilities to plan with")
    for limit in range(1, min(max_depth, max_nodes) + 1):
        best = _nothing(max_nodes)
        for depth in reversed(range(limit)):
            best = _with_children(chances[min(depth, len(chances) - 1)][:max_nodes], *best)
        for accepted, tree in list(zip(*best, strict=True))[limit:]:
            plan = Plan(_parents(tree), float(accepted))
            if np.isfinite(accepted) and len(plan.widths) == limit:
                yield plan


def fastest(plans: Iterator[Plan], round_seconds: Callable[[int, Sequence[int]], float]) -> list[tuple[Plan, float]]:
    """Sort plans by their expected tokens per second.

    Args:
        plans: the plans.
        round_seconds: time of a round by number of nodes (root excluded) and widths of its tree.

    Returns:
        Each plan with `(1 + accepted) / seconds`, the fastest first.
    """
    rated = [(plan, (1 + plan.accepted) / round_seconds(plan.nodes, plan.widths)) for plan in plans]
    return sorted(rated, key=lambda pair: (-pair[1], pair[0].nodes))


def _nothing(size: int) -> tuple[Floats, list[Nested]]:
    """Accepted tokens and trees, by number of nodes, where only the empty tree is possible."""
    accepted = np.full(size + 1, -np.inf)
    accepted[0] = 0.0
    return accepted, [()] * (size + 1)


def _with_children(
    table: Sequence[Sequence[float]], below: Floats, trees: Sequence[Nested]
) -> tuple[Floats, list[Nested]]:
    """Find the best subtrees of a node of some depth from those one level below.

    Args:
        table: acceptance probabilities of the children of such a node, by number of children and rank.
        below: most accepted tokens in a subtree of a child, by its number of nodes, `[N + 1]`.
        trees: the subtrees, `[N + 1]`.

    Returns:
        The same for the node itself.
    """
    size = len(trees) - 1
    total, given = np.indices((size + 1, size + 1))
    rest = total - 1 - given
    best, found = _nothing(size)
    for row in table:
        # The most accepted tokens in the subtrees of this and all later children, and these subtrees.
        accepted, subtrees = _nothing(size)
        for chance in reversed(row):
            # A probability of 0 times -inf must stay -inf and not become NaN.
            child = np.where(np.isfinite(below), chance * (1 + np.where(np.isfinite(below), below, 0.0)), -np.inf)
            options = np.where(rest >= 0, child[given] + accepted[rest], -np.inf)
            subtrees = [(trees[first], *subtrees[n - 1 - first]) for n, first in enumerate(options.argmax(1))]
            accepted = options.max(1)
        better = accepted > best
        best = np.where(better, accepted, best)
        found = [new if chosen else old for chosen, new, old in zip(better, subtrees, found, strict=True)]
    return best, found


def _parents(tree: Nested) -> tuple[int, ...]:
    """The parent list of a tree, level by level."""
    parents, nodes = [-1], [tree]
    for node, children in enumerate(nodes):
        parents += [node] * len(children)
        nodes += children
    return tuple(parents)
