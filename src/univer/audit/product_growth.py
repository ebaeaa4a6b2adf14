"""Every tree that a tree policy of the package can draw, by its own drafting loop, with the chance of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import torch
from torch import Tensor

from univer.audit.models import TableModel
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Grower, Growth, Guess, NodeSlots
from univer.drafting.growth.loop import draft_tree
from univer.tree import DraftTree


class _UndecidedError(Exception):
    """A level is to be drawn for which no coins were given."""


class _Observed:
    """A growth whose first levels are drawn by given coins, and of whose next level all coins are listed.

    Args:
        growth: the growth.
        coins: coins of the first levels.
    """

    def __init__(self, growth: Growth, coins: Sequence[Sequence[float]]) -> None:
        self.law, self.depth = growth.law, growth.depth
        self.frontier, self.finish = growth.frontier, growth.finish
        self.options: list[tuple[float, list[float]]] = []
        self._growth = growth
        self._coins = iter(coins)

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        decisions = self._growth.slots(tree, nodes, rows, guesses)
        cells = [list(_cells(row, decision, self.law)) for row, decision in zip(rows, decisions, strict=True)]
        self.options = [
            (prod(share for share, _ in parts), [coin for _, own in parts for coin in own]) for parts in product(*cells)
        ]
        return decisions

    def coins(self, count: int) -> Tensor:
        own = next(self._coins, None)
        if own is None:
            raise _UndecidedError
        return torch.tensor(own, dtype=torch.float64)


def product_trees(
    grower: Grower, model: TableModel, depth: int, start: int = 0, nodes: int | None = None
) -> Iterator[tuple[float, DraftTree, list[int]]]:
    """Every tree that a grower can draft next: its chance, the tree, and the prefix number of each node.

    The loop of the package is run from the root for each, with uniforms from the middle of every cell of the
    distribution functions that it samples from.

    Args:
        grower: of some policy; it is told of no verdict.
        model: the model whose draft is read.
        depth: levels that the text has room for.
        start: prefix number of the root.
        nodes: most nodes that are wanted, the root left out; None for as many as the policy likes.
    """

    def read_level(tree: TreeBuilder, nodes: Sequence[int]) -> Tensor:
        prefixes = _prefixes(tree.tokens, tree.parents, start, model.vocabulary)
        return model.draft[[prefixes[node] for node in nodes]]

    waiting: list[tuple[float, list[list[float]]]] = [(1.0, [])]
    while waiting:
        chance, coins = waiting.pop()
        growth = _Observed(grower.begin(depth, nodes), coins)
        try:
            tree = draft_tree(0, growth, read_level, growth.coins, torch.device("cpu")).tree
        except _UndecidedError:
            waiting += [(chance * share, [*coins, own]) for share, own in growth.options]
        else:
            yield chance, tree, _prefixes(tree.tokens.tolist(), tree.parents, start, model.vocabulary)


def _prefixes(tokens: Sequence[int], parents: Sequence[int], start: int, vocabulary: int) -> list[int]:
    """Prefix number of every node."""
    prefixes = [start]
    for token, parent in zip(tokens[1:], parents[1:], strict=True):
        prefixes.append(prefixes[parent] * vocabulary + 1 + token)
    return prefixes


def _cells(row: Tensor, decision: NodeSlots, law: str) -> Iterator[tuple[float, list[float]]]:
    """All that can be drawn at a node: the chance, and a coin for every sampled slot."""
    left = row.double().clone()
    left[list(decision.fixed)] = 0.0
    yield from _draws(left, decision.sampled, law == "iid")


def _draws(left: Tensor, count: int, replacement: bool) -> Iterator[tuple[float, list[float]]]:
    total = float(left.sum())
    if count == 0 or total == 0:
        yield 1.0, [0.5] * count
        return
    upper = left.cumsum(0)
    for token in left.nonzero()[:, 0].tolist():
        width = float(left[token]) / total
        rest = left.clone()
        if not replacement:
            rest[token] = 0.0
        for share, more in _draws(rest, count - 1, replacement):
            yield share * width, [float(upper[token]) / total - width / 2, *more]
