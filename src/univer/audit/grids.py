"""Verification under a grid of uniforms: exact, and strict at the edges of every cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import torch
from torch import Tensor

from univer.audit.cases import family_cases
from univer.audit.enumeration import first_round
from univer.audit.models import Floats, Ints
from univer.methods import Method
from univer.tree import DraftTree, Forest
from univer.verdict import Verdict, outcome_law, verify, verify_forest

# Ends and tokens of many trees, as `univer.verify_forest`: given the forest, target distributions and both uniforms.
Verify = Callable[[Forest, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
# Verdicts of consecutive rounds on trees with their target distributions, given all uniforms, `N + 1` a round.
Play = Callable[[Sequence[tuple[DraftTree, Tensor]], Tensor], list[Verdict]]

LARGEST = float(np.nextafter(1.0, 0.0))
SAME = 1e-14
MOST_NODES = 6


@dataclass(frozen=True)
class Cells:
    """Intervals of [0, 1) within which every uniform has the same effect.

    Attributes:
        edges: `[n + 1]`, from 0 to 1.
    """

    edges: Floats

    @staticmethod
    def below(threshold: float) -> Cells:
        """The uniforms below a threshold and the others."""
        return Cells(np.array([0.0, threshold, 1.0] if 0 < threshold < 1 else [0.0, 1.0]))

    @staticmethod
    def between(values: Floats) -> Cells:
        """Cells between values; those that differ by rounding only are one."""
        inner = np.unique(values[(values > 0) & (values < 1 - SAME)])
        return Cells(np.concatenate([[0.0], inner[np.diff(inner, prepend=-1.0) > SAME], [1.0]]))

    @property
    def widths(self) -> Floats:
        """Probability of each cell."""
        return np.diff(self.edges)

    @property
    def middles(self) -> Floats:
        """A point inside each cell."""
        middles: Floats = (self.edges[:-1] + self.edges[1:]) / 2
        return np.minimum(middles, LARGEST)

    def corners(self, cell: int) -> list[float]:
        """The smallest and the largest double of a cell."""
        return [float(self.edges[cell]), float(np.nextafter(self.edges[cell + 1], 0.0))]


class Grid:
    """A drafted tree with the cells of its uniforms.

    Args:
        tree: the tree.
        targets: its target distributions `[N, V]`.
        expected: its outcome distribution `[N, V]`.
        thresholds: acceptance probability of every node's test, `[N]`.
    """

    def __init__(self, tree: DraftTree, targets: Tensor, expected: Tensor, thresholds: Tensor) -> None:
        self.tree, self.targets = tree, targets
        self.expected: Floats = expected.double().numpy()
        self.nodes = [Cells.below(value) for value in thresholds.double().tolist()]
        mass = self.expected.sum(1, keepdims=True)
        cumulative = np.cumsum(self.expected, 1)[mass[:, 0] > 0] / mass[mass[:, 0] > 0]
        self.tokens = Cells.between(cumulative.reshape(-1))
        self.choices = np.array(list(product(*(range(len(cells.widths)) for cells in self.nodes))))
        self.coins = np.stack([cells.middles[self.choices[:, node]] for node, cells in enumerate(self.nodes)], 1)

    def rows(self) -> tuple[Floats, Floats]:
        """Uniforms `[n, N + 1]` in the middle of every combination of cells, and the probability of each, `[n]`."""
        count, last = len(self.coins), len(self.tokens.widths)
        weights = np.prod([cells.widths[self.choices[:, node]] for node, cells in enumerate(self.nodes)], axis=0)
        coins = np.concatenate([np.repeat(self.coins, last, 0), np.tile(self.tokens.middles, count)[:, None]], 1)
        return coins, np.repeat(weights, last) * np.tile(self.tokens.widths, count)

    def edge_rows(self) -> tuple[Floats, Floats]:
        """Uniforms with one of them moved to an edge of its cell, and with all in the middle, both `[n, N + 1]`."""
        moved, plain = [], []
        for coins, choice in zip(self.coins, self.choices, strict=True):
            row = np.append(coins, 0.5)
            for node, cells in enumerate(self.nodes):
                for corner in cells.corners(int(choice[node])):
                    plain.append(row)
                    moved.append(np.concatenate([row[:node], [corner], row[node + 1 :]]))
            # The ends of the token's own uniform fall into the first and the last cell.
            for corner, cell in ((0.0, 0), (LARGEST, -1)):
                plain.append(np.append(coins, self.tokens.middles[cell]))
                moved.append(np.append(coins, corner))
        return np.stack(moved), np.stack(plain)

    def distribution(self, coins: Floats, weights: Floats, verify: Verify) -> Floats:
        """Distribution of the verdicts over weighted uniforms, `[N, V]`."""
        found = np.zeros_like(self.expected)
        np.add.at(found, self.verdicts(coins, verify), weights)
        return found

    def verdicts(self, coins: Floats, verify: Verify) -> tuple[Ints, Ints]:
        """End and token for every row of uniforms, all verified in one forest."""
        count, size = len(coins), len(self.tree)
        targets = self.targets.repeat(count, 1)
        uniforms = torch.from_numpy(np.ascontiguousarray(coins[:, :-1])).reshape(-1)
        ends, tokens = verify(repeated(self.tree, count), targets, uniforms, torch.from_numpy(coins[:, -1].copy()))
        return ends.numpy() % size, tokens.numpy()


def repeated(tree: DraftTree, count: int) -> Forest:
    """`count` copies of a tree as one forest."""
    size = len(tree)
    rows = tree.draft_laws
    if not isinstance(rows, Tensor) and rows:
        blank = torch.zeros_like(next(iter(rows.values())))
        rows = torch.stack([rows.get(node, blank) for node in range(size)])
    if isinstance(rows, Tensor):
        rows = rows.repeat(count, 1)
    excluded = {copy * size + node: tokens for copy in range(count) for node, tokens in tree.excluded.items()}
    return Forest(tree.topology.repeat(count), tree.tokens.repeat(count), rows, tree.law, excluded, tree.planned)


def slices(rounds: Sequence[tuple[DraftTree, Tensor]], uniforms: Tensor) -> list[Tensor]:
    """The uniforms of each round, `N + 1` for a tree of `N` nodes."""
    return list(torch.split(uniforms, [len(tree) + 1 for tree, _ in rounds]))


def verify_by(method: Method, order: str | None = None) -> Verify:
    """Verification of many trees by a method."""
    return lambda forest, targets, uniforms, token_uniforms: verify_forest(
        forest, targets, method, uniforms, token_uniforms, order
    )


def play_by(method: Method, order: str | None = None) -> Play:
    """Consecutive rounds, each with uniforms of its own."""

    def play(rounds: Sequence[tuple[DraftTree, Tensor]], uniforms: Tensor) -> list[Verdict]:
        coins = slices(rounds, uniforms)
        return [
            verify(tree, targets, method, uniforms=part, order=order)
            for (tree, targets), part in zip(rounds, coins, strict=True)
        ]

    return play


def one_by_one(method: Method, grid: Grid, order: str | None = None) -> Verify:
    """Verification by `univer.verify`, tree by tree, on copies of the grid's own tree."""

    def verify_all(forest: Forest, targets: Tensor, uniforms: Tensor, token_uniforms: Tensor) -> tuple[Tensor, Tensor]:
        coins = torch.cat([uniforms.reshape(len(token_uniforms), -1), token_uniforms[:, None]], 1)
        verdicts = [verify(grid.tree, grid.targets, method, uniforms=row, order=order) for row in coins]
        ends = [verdict.path[-1] if verdict.path else 0 for verdict in verdicts]
        return torch.tensor(ends), torch.tensor([verdict.next_token for verdict in verdicts])

    return verify_all


def generator_faults(method: Method, grid: Grid, order: str | None, seed: int, rounds: int = 4) -> int:
    """Rounds in which `verify` with a generator is not what it is with the next `N + 1` uniforms of that generator."""
    source, twin = (torch.Generator().manual_seed(seed) for _ in range(2))
    coins = torch.rand(rounds, len(grid.tree) + 1, generator=twin, dtype=torch.float64)
    drawn = [verify(grid.tree, grid.targets, method, generator=source, order=order) for _ in range(rounds)]
    given = [verify(grid.tree, grid.targets, method, uniforms=row, order=order) for row in coins]
    return sum(one != other for one, other in zip(drawn, given, strict=True))


def small_grids(method: Method, count: int, seed: int, order: str | None = None) -> list[Grid]:
    """Grids on small drafted trees of the method's own sampling scheme."""
    chosen, grids = method.order if order is None else order, []
    for tree, targets in small_trees(method.draft_law, count, seed):
        accept = method.coupling.allocate(tree, targets, method.rule, chosen).accept
        grids.append(Grid(tree, targets, outcome_law(tree, targets, method, chosen), accept))
    return grids


@cache
def small_trees(law: str, count: int, seed: int) -> list[tuple[DraftTree, Tensor]]:
    """A drafted tree with its target distributions from each of `count` cases of a sampling scheme, if it is small."""
    trees = []
    for number, case in enumerate(family_cases(law, count, seed)):
        model = case.model()
        drafted = first_round(case, model)[-1]
        sizes = np.bincount(drafted.forest.topology.trees)
        largest = np.nonzero(sizes == sizes.max())[0]
        if sizes.max() <= MOST_NODES:
            trees.append(drafted.tree(int(largest[number % len(largest)]), model)[:2])
    return trees


@dataclass(frozen=True)
class GridFaults:
    """What a grid found.

    Attributes:
        error: largest error of the distribution of the verdicts.
        edges: rows in which a uniform at an edge of its cell gave another verdict than one in its middle.
        rows: how many rows with a uniform at an edge there were.
    """

    error: float
    edges: int
    rows: int


def audit_round(grid: Grid, verify: Verify) -> GridFaults:
    """One round: the distribution of the verdicts, and the edges: 0, the largest double below 1, every threshold."""
    coins, weights = grid.rows()
    error = float(np.abs(grid.distribution(coins, weights, verify) - grid.expected).max())
    moved, plain = grid.edge_rows()
    found, wanted = grid.verdicts(moved, verify), grid.verdicts(plain, verify)
    return GridFaults(error, int(((found[0] != wanted[0]) | (found[1] != wanted[1])).sum()), len(moved))


def audit_rounds(first: Grid, second: Grid, play: Play) -> float:
    """Two rounds on two trees: largest error of the joint distribution of verdicts over a grid of all uniforms."""
    early, early_weights = first.rows()
    late, late_weights = second.rows()
    found = np.zeros((*first.expected.shape, *second.expected.shape))
    rounds = [(grid.tree, grid.targets) for grid in (first, second)]
    for one, one_weight in zip(early, early_weights, strict=True):
        for two, two_weight in zip(late, late_weights, strict=True):
            verdicts = play(rounds, torch.from_numpy(np.concatenate([one, two])))
            place = [(verdict.path[-1] if verdict.path else 0, verdict.next_token) for verdict in verdicts]
            found[(*place[0], *place[1])] += one_weight * two_weight
    return float(np.abs(found - np.multiply.outer(first.expected, second.expected)).max())
