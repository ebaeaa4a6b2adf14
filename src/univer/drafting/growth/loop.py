"""The drafting loop: every draft that yields distributions grows its trees here."""

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
# Like `ReadLevel`, as a proposal that yields the inputs of its passes.
AskLevel = Callable[[TreeBuilder, Sequence[int]], Proposal[Tensor]]
GuessLevel = Callable[[TreeBuilder, Sequence[int]], Sequence[Sequence[Guess]]]
# Returns the given number of uniforms in [0, 1), float64.
Coins = Callable[[int], Tensor]


class Drafted(NamedTuple):
    """A drafted tree and the ids that its nodes had while it grew.

    Attributes:
        tree: the tree.
        origins: for every node of the tree, the id under which `read_level` saw it; ids that are missing here were left
            out of the tree.
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
        read_level: returns the draft distributions `Q_v`, `[n, D]`, of `n` nodes of the tree so far; called once per
            level, first for the root.
        generator: source of all randomness, on the CPU.
        device: device of the tree's distributions.
        guesses: proposes tokens for fixed children at nodes, for instance from an n-gram; none by default.
        columns: which token each of the `D` columns stands for; by default column `x` is token `x`.

    Returns:
        The tree with the origins of its nodes.
    """
    return tree_from_coins(root_token, growth, read_level, coins_of(generator), device, guesses, columns)


def coins_of(generator: torch.Generator) -> Coins:
    """Return a source of uniforms drawn from a generator."""
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
    """Grow one tree with uniforms that the caller supplies.

    Args:
        root_token: as for `draft_tree`.
        growth: as for `draft_tree`.
        read_level: as for `draft_tree`.
        coins: called once per level, for one uniform per sampled slot, node by node.
        device: as for `draft_tree`.
        guesses: as for `draft_tree`.
        columns: as for `draft_tree`.
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
    """Grow one tree whose levels are read together with those of other requests.

    Args:
        root_token: as for `draft_tree`.
        growth: as for `draft_tree`.
        ask_level: like `read_level`, as a proposal.
        coins: as for `tree_from_coins`.
        device: as for `draft_tree`.
        guesses: as for `draft_tree`.
        columns: as for `draft_tree`.
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
