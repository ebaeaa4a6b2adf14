"""Drafting without a model: trees of guesses alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from univer.drafting.base import Draft, DraftRequest, DraftSession
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Growth, Guess, draft_tree
from univer.drafting.guesses import GuessSource
from univer.drafting.guessing import Guessing
from univer.tree import DraftTree


class GuessDraft(Draft):
    """Draws trees from guess sources; nothing is random, so all children are `fixed`.

    At every node the most confident guesses of all sources take the slots that the growth offers. Where nothing is
    guessed the tree ends; without a guess at the root the round is a plain step.

    Args:
        sources: the sources, at least one; of equally confident guesses the first source's are preferred.

    Raises:
        ValueError: there is no source.

    Example:
        >>> from univer.drafting.lookup import LookupSource
        >>> GuessDraft([LookupSource()]).name
        'lookup'
    """

    fixed_only = True

    def __init__(self, sources: Sequence[GuessSource]) -> None:
        if not sources:
            raise ValueError("a draft of guesses needs at least one source, such as LookupSource()")
        self.sources = tuple(sources)
        self.name = "+".join(source.name for source in sources)

    def start(self, request: DraftRequest) -> GuessDraftSession:
        """Start a request."""
        return GuessDraftSession(self, request)


class GuessDraftSession(DraftSession):
    """One request of a `GuessDraft`."""

    def __init__(self, draft: GuessDraft, request: DraftRequest) -> None:
        self.generator = request.generator
        self.guessing = Guessing(draft.sources, request)

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree:
        """Draft a tree; see `DraftSession.propose`."""

        def guesses(tree: TreeBuilder, nodes: Sequence[int]) -> list[list[Guess]]:
            return self.guessing.level(committed, tree, nodes)

        return draft_tree(committed[-1], growth, _no_rows, self.generator, torch.device("cpu"), guesses).tree

    def finish(self, committed: Sequence[int]) -> None:
        """Pass the finished sequence to all sources."""
        self.guessing.finish(committed)


def _no_rows(tree: TreeBuilder, nodes: Sequence[int]) -> Tensor:
    return torch.zeros(len(nodes), 0)
