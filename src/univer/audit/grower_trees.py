"""Every tree that a tree policy of the package can draw, by its own drafting loop, with the chance of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import torch
from torch import Tensor

from univer.audit.growth import draws
from univer.audit.models import Floats, TableModel
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
        cells = [self._cells(row.double().numpy().copy(), node) for row, node in zip(rows, decisions, strict=True)]
        self.options = [
            (prod(share for share, _ in parts), [coin for _, coins in parts for coin in coins])
            for parts in product(*cells)
        ]
        return decisions

    def coins(self, count: int) -> Tensor:
        coins = next(self._coins, None)
        if coins is None:
            raise _UndecidedError
        return torch.tensor(coins, dtype=torch.float64)

    def _cells(self, left: Floats, decision: NodeSlots) -> list[tuple[float, list[float]]]:
        """All that can be drawn at a node: the chance, and a coin for every sampled slot."""
        left[list(decision.fixed)] = 0.0
        return [(share, coins) for share, _, coins in draws(left, decision.sampled, self.law == "iid")]


def grower_trees(
    grower: Grower, model: TableModel, depth: int, start: int = 0, nodes: int | None = None
) -> Iterator[tuple[float, DraftTree, list[int]]]:
    """Every tree that a grower can draft next: its chance, the tree, and the prefix number of each node.

    The loop of the package is run from the root for each, with uniforms from the middle of every cell of the
    distribution functions that it samples from.

    Args:
        grower: of some policy; it learns of no verdict.
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
            waiting += [(chance * share, [*coins, level]) for share, level in growth.options]
        else:
            yield chance, tree, _prefixes(tree.tokens.tolist(), tree.parents, start, model.vocabulary)


def _prefixes(tokens: Sequence[int], parents: Sequence[int], start: int, vocabulary: int) -> list[int]:
    """Prefix number of every node."""
    prefixes = [start]
    for token, parent in zip(tokens[1:], parents[1:], strict=True):
        prefixes.append(prefixes[parent] * vocabulary + 1 + token)
    return prefixes
