"""The one loop in which every draft with rows grows its trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.columns import EVERY_TOKEN, Columns
from univer.drafting.growth.base import Growth
from univer.drafting.guesses import Guess
from univer.drafting.proposals import Proposal, complete
from univer.tree import DraftTree

ReadLevel = Callable[[TreeBuilder, Sequence[int]], Tensor]
# As `ReadLevel`, as a proposal that yields the inputs of its passes.
AskLevel = Callable[[TreeBuilder, Sequence[int]], Proposal[Tensor]]
GuessLevel = Callable[[TreeBuilder, Sequence[int]], Sequence[Sequence[Guess]]]
# Gives so many uniforms in [0, 1), float64.
Coins = Callable[[int], Tensor]


class Drafted(NamedTuple):
    """A drafted tree and where its nodes come from.

    Attributes:
        tree: the tree.
        origins: for every node of the tree its id while it grew, which is what `read_level` was given; other ids were
            left out of the tree.
    """

    tree: DraftTree
    origins: list[int]


def draft_tree(
    root_token: int,
    growth: Growth,
    read_level: ReadLevel,
    generator: torch.Generator,
    device: torch.device,
    guesses: GuessLevel | None = None,
    columns: Columns = EVERY_TOKEN,
) -> Drafted:
    """Grow one tree, level by level: read, decide, draw.

    Args:
        root_token: the last committed token.
        growth: decides which nodes get which slots.
        read_level: given the tree so far and `n` of its nodes, returns their draft laws `Q_v` `[n, D]`; asked once per
            level, first for the root.
        generator: source of all randomness, on the CPU.
        device: where the tree's laws are to lie.
        guesses: proposes fixed tokens at nodes, for instance from an n-gram; none by default.
        columns: which tokens the `D` columns of the laws stand for; by default all tokens in order.

    Returns:
        The tree with the origins of its nodes.
    """
    return tree_from_coins(root_token, growth, read_level, coins_of(generator), device, guesses, columns)


def coins_of(generator: torch.Generator) -> Coins:
    """Uniforms of a generator."""
    return lambda count: torch.rand(count, generator=generator, dtype=torch.float64)


def tree_from_coins(
    root_token: int,
    growth: Growth,
    read_level: ReadLevel,
    coins: Coins,
    device: torch.device,
    guesses: GuessLevel | None = None,
    columns: Columns = EVERY_TOKEN,
) -> Drafted:
    """As `draft_tree`, with uniforms of the caller's.

    Args:
        root_token: as for `draft_tree`.
        growth: likewise.
        read_level: likewise.
        coins: asked once per level, for one uniform per sampled slot, node by node.
        device: likewise.
        guesses: likewise.
        columns: likewise.
    """

    def ask_level(tree: TreeBuilder, nodes: Sequence[int]) -> Proposal[Tensor]:
        yield from ()
        return read_level(tree, nodes)

    return complete(tree_under_way(root_token, growth, ask_level, coins, device, guesses, columns))


def tree_under_way(
    root_token: int,
    growth: Growth,
    ask_level: AskLevel,
    coins: Coins,
    device: torch.device,
    guesses: GuessLevel | None = None,
    columns: Columns = EVERY_TOKEN,
) -> Proposal[Drafted]:
    """As `tree_from_coins`, for a tree that grows beside those of other texts.

    Args:
        root_token: as for `draft_tree`.
        growth: likewise.
        ask_level: asked as `read_level` is, as a proposal.
        coins: as for `tree_from_coins`.
        device: as for `draft_tree`.
        guesses: likewise.
        columns: likewise.
    """
    tree = TreeBuilder(root_token, growth.law, columns)
    level = growth.frontier(tree, [0])
    while level:
        rows = (yield from ask_level(tree, level)).to(device)
        proposed = guesses(tree, level) if guesses else [()] * len(level)
        decisions = growth.slots(tree, level, rows, proposed)
        uniforms = coins(sum(decision.sampled for decision in decisions)).to(device)
        level = growth.frontier(tree, tree.expand(level, decisions, rows, uniforms))
    return Drafted(growth.finish(tree), tree.kept)
