"""The best static tree of every size and depth, by dynamic programming over acceptance probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from univer.drafting.shapes import depths_of
from univer.topology import Floats, Ints

Chances = Sequence[Sequence[Sequence[float]]]


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
        programme = _Programme(chances, max_nodes, limit)
        for size in range(limit, max_nodes + 1):
            plan = programme.plan(size)
            if plan is not None and len(plan.widths) == limit:
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


class _Programme:
    """The dynamic programme for one depth limit.

    Args:
        chances: see `best_plans`.
        size: largest number of nodes.
        limit: largest depth.
    """

    def __init__(self, chances: Chances, size: int, limit: int) -> None:
        nothing = np.full(size + 1, -np.inf)
        nothing[0] = 0.0
        self._values = nothing
        # By depth, from the root down: the best number of children for every number of nodes, and for every number of
        # children and every rank, how many of the nodes left for this and all later children go below this child.
        self._choices: list[tuple[Ints, list[list[Ints]]]] = []
        for depth in reversed(range(limit)):
            table = chances[min(depth, len(chances) - 1)]
            below = 1 + self._values
            values, shares = zip(*(_share(row, below, size) for row in table[:size]), strict=True)
            stacked = np.stack(values)
            self._choices.insert(0, (stacked.argmax(0) + 1, list(shares)))
            self._values = stacked.max(0)
            self._values[0] = 0.0

    def plan(self, size: int) -> Plan | None:
        """Return the best tree of this size, or None if there is none."""
        if not np.isfinite(self._values[size]):
            return None
        parents = [-1]
        level = [(0, size)]
        for widths, shares in self._choices:
            below = []
            for node, nodes in level:
                width, left = int(widths[nodes]), nodes
                for rank in range(width):
                    given = int(shares[width - 1][rank][left])
                    parents.append(node)
                    if given:
                        below.append((len(parents) - 1, given))
                    left -= 1 + given
            level = below
        return Plan(tuple(parents), float(self._values[size]))


def _share(row: Sequence[float], below: Floats, size: int) -> tuple[Floats, list[Ints]]:
    """Share nodes among children in the best way.

    Args:
        row: acceptance probability of each child by rank.
        below: accepted tokens that a kept child brings, by the number of nodes below it, `[size + 1]`.
        size: largest number of nodes.

    Returns:
        The most accepted tokens with `n` nodes in all, `[size + 1]`; and for every rank, how many nodes go below that
        child if `n` are left for it and all later children.
    """
    worth = np.full(size + 1, -np.inf)
    worth[0] = 0.0
    total, given = np.indices((size + 1, size + 1))
    rest = total - 1 - given
    shares: list[Ints] = []
    for chance in reversed(row):
        # A probability of 0 times -inf must stay -inf and not become NaN.
        child = np.where(np.isfinite(below), chance * np.where(np.isfinite(below), below, 0.0), -np.inf)
        options = np.where(rest >= 0, child[given] + worth[np.maximum(rest, 0)], -np.inf)
        shares.insert(0, options.argmax(1))
        worth = options.max(1)
    return worth, shares
