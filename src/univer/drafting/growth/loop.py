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
from univer.drafting.proposals import Proposal, as_proposal, complete
from univer.tree import DraftTree

# Returns the draft distributions `Q_v`, `[n, D]`, of `n` nodes, or a proposal that yields the inputs of its passes.
ReadLevel = Callable[[TreeBuilder, Sequence[int]], Tensor | Proposal[Tensor]]
GuessLevel = Callable[[TreeBuilder, Sequence[int]], Sequence[Sequence[Guess]]]
# Returns the given number of uniforms in [0, 1), float64.
Uniforms = Callable[[int], Tensor]


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
    read_level: Callable[[TreeBuilder, Sequence[int]], Tensor],
    randomness: torch.Generator | Uniforms,
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
        randomness: a generator on the CPU; or a function that is called once per level and returns that many uniforms
            in [0, 1), float64, one for each sampled slot, node by node.
        device: device of the tree's distributions.
        guesses: proposes fixed tokens at nodes, for example from an n-gram; none by default.
        columns: the tokens that the `D` columns of the distributions stand for; by default all tokens in order.

    Returns:
        The tree with the origins of its nodes.
    """
    return complete(grow_tree(root_token, growth, read_level, randomness, device, guesses, columns))


def grow_tree(
    root_token: int,
    growth: Growth,
    read_level: ReadLevel,
    randomness: torch.Generator | Uniforms,
    device: torch.device,
    guesses: GuessLevel | None = None,
    columns: Columns = EVERY_TOKEN,
) -> Proposal[Drafted]:
    """Grow one tree as a proposal, so that one pass of a draft model serves the trees of several requests.

    The arguments are those of `draft_tree`, but `read_level` may return a proposal of its own.
    """
    tree = TreeBuilder(root_token, growth.law, columns)
    level = growth.frontier(tree, [0])
    while level:
        rows = (yield from as_proposal(read_level(tree, level))).to(device)
        proposed = guesses(tree, level) if guesses else [()] * len(level)
        decisions = growth.slots(tree, level, rows, proposed)
        count = sum(decision.sampled for decision in decisions)
        if isinstance(randomness, torch.Generator):
            uniforms = torch.rand(count, generator=randomness, dtype=torch.float64)
        else:
            uniforms = randomness(count)
        level = growth.frontier(tree, tree.expand(level, decisions, rows, uniforms.to(device)))
    return Drafted(growth.finish(tree), tree.kept)
