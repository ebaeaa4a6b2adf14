"""The best static tree of every size and depth, by dynamic programming over the chances of acceptance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Chances = Sequence[Sequence[Sequence[float]]]


@dataclass(frozen=True)
class Plan:
    """A tree and what to expect of it.

    Attributes:
        parents: `[N]`, -1 for the root, level by level, siblings by rank.
        accepted: expected number of accepted tokens of a round.
    """

    parents: tuple[int, ...]
    accepted: float

    @property
    def nodes(self) -> int:
        """Number of drafted nodes, the root left out."""
        return len(self.parents) - 1

    @property
    def widths(self) -> list[int]:
        """Number of inner nodes by depth: what the draft reads level by level."""
        return inner_widths(self.parents)


def inner_widths(parents: Sequence[int]) -> list[int]:
    """Number of inner nodes by depth.

    Example:
        >>> inner_widths([-1, 0, 0, 1, 1, 2])
        [1, 2]
    """
    depths = [0] * len(parents)
    for node, parent in enumerate(parents[1:], start=1):
        depths[node] = depths[parent] + 1
    widths = [0] * (max(depths) + 1)
    for node in set(parents) - {-1}:
        widths[depths[node]] += 1
    return widths[:-1] if len(widths) > 1 else []


def best_plans(chances: Chances, max_nodes: int, max_depth: int) -> Iterator[Plan]:
    r"""The trees with the most accepted tokens, one for every number of nodes and every limit of the depth.

    With `p_d(m, j)` the chance that a round which keeps a node of depth `d` with `m` children goes on to the `j`-th of
    them, the best subtree of `n` nodes below a node of depth `d` is worth

        F_d(n) = max over m >= 1 and n_1 + .. + n_m = n - m of sum_j p_d(m, j) (1 + F_{d+1}(n_j)),    F_d(0) = 0,

    and `F = -inf` where the depth limit leaves no room. The chances may depend on the number of siblings, as those of
    rules with sampled children do; otherwise this is the dynamic programme of Sequoia. Cost per depth limit `D`:
    `O(D M^2 N^2)`.

    Args:
        chances: `chances[d][m - 1][j]`; deeper than the table the last entry holds. Sums over `j` are at most 1.
        max_nodes: largest number of nodes, the root left out.
        max_depth: largest depth.

    Yields:
        For every depth limit from 1 on the best tree of every size that has nodes at that depth.

    Raises:
        ValueError: a limit below 1 or an empty table.

    References:
        Chen et al., "Sequoia", arXiv 2402.12374, section 4.1.

    Example:
        >>> [(plan.parents, plan.accepted) for plan in best_plans([[[0.5], [0.5, 0.25]]], 2, 2)]
        [((-1, 0), 0.5), ((-1, 0, 0), 0.75), ((-1, 0, 1), 0.75)]
    """
    if max_nodes < 1 or max_depth < 1:
        raise ValueError(f"a tree to plan has at least one node and one level, not {max_nodes} and {max_depth}")
    if not chances or not chances[0]:
        raise ValueError("there are no chances of acceptance to plan with")
    for limit in range(1, min(max_depth, max_nodes) + 1):
        programme = _Programme(chances, max_nodes, limit)
        for size in range(limit, max_nodes + 1):
            plan = programme.plan(size)
            if plan is not None and len(plan.widths) == limit:
                yield plan


def fastest(plans: Iterator[Plan], round_seconds: Callable[[int, Sequence[int]], float]) -> list[tuple[Plan, float]]:
    """Plans with their expected tokens per second, the fastest first.

    Args:
        plans: the plans.
        round_seconds: time of a round whose tree has so many nodes (the root left out) and such inner widths.

    Returns:
        `(1 + accepted) / seconds` beside each plan.
    """
    rated = [(plan, (1 + plan.accepted) / round_seconds(plan.nodes, plan.widths)) for plan in plans]
    return sorted(rated, key=lambda pair: (-pair[1], pair[0].nodes))


class _Programme:
    """The dynamic programme for one limit of the depth.

    Args:
        chances: see `best_plans`.
        size: largest number of nodes.
        limit: largest depth.
    """

    def __init__(self, chances: Chances, size: int, limit: int) -> None:
        nothing = np.full(size + 1, -np.inf)
        nothing[0] = 0.0
        self._values = nothing
        # By depth, from the root down: for every number of nodes the best number of children, and for every width and
        # rank the number of nodes given to the child of that rank, the later ones having been served.
        self._choices: list[tuple[NDArray[np.int64], list[list[NDArray[np.int64]]]]] = []
        for depth in reversed(range(limit)):
            table = chances[min(depth, len(chances) - 1)]
            below = 1 + self._values
            values, shares = zip(*(_share(row, below, size) for row in table[:size]), strict=True)
            stacked = np.stack(values)
            self._choices.insert(0, (stacked.argmax(0) + 1, list(shares)))
            self._values = stacked.max(0)
            self._values[0] = 0.0

    def plan(self, size: int) -> Plan | None:
        """The best tree of this size, or None if there is none."""
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


def _share(row: Sequence[float], below: Floats, size: int) -> tuple[Floats, list[NDArray[np.int64]]]:
    """The best way to share nodes among children.

    Args:
        row: chance of each child by rank.
        below: worth of a child that is kept, by the number of nodes below it, `[size + 1]`.
        size: largest number of nodes.

    Returns:
        The best worth of `n` nodes in all, `[size + 1]`, and for every rank how many nodes go below that child when
        `n` are left for it and all later ones.
    """
    worth = np.full(size + 1, -np.inf)
    worth[0] = 0.0
    total, given = np.indices((size + 1, size + 1))
    rest = total - 1 - given
    shares: list[NDArray[np.int64]] = []
    for chance in reversed(row):
        # A chance of 0 must not turn what is impossible into NaN.
        own = np.where(np.isfinite(below), chance * np.where(np.isfinite(below), below, 0.0), -np.inf)
        options = np.where(rest >= 0, own[given] + worth[np.maximum(rest, 0)], -np.inf)
        shares.insert(0, options.argmax(1))
        worth = options.max(1)
    return worth, shares
