"""The guess sources of one request, asked together for all nodes of a level."""

from __future__ import annotations

from collections.abc import Sequence

from univer.drafting.builder import TreeBuilder
from univer.drafting.guesses import Guess, GuessSource, merge_guesses
from univer.drafting.request import DraftRequest


class Guessing:
    """The sessions of some guess sources.

    Args:
        sources: the sources, the preferred first.
        request: the request.
    """

    def __init__(self, sources: Sequence[GuessSource], request: DraftRequest) -> None:
        self._sessions = [source.start(request) for source in sources]

    def level(self, committed: Sequence[int], tree: TreeBuilder, nodes: Sequence[int]) -> list[list[Guess]]:
        """What may follow some nodes of a tree, by all sources, without duplicates.

        Args:
            committed: all committed token ids.
            tree: the tree while it grows.
            nodes: node ids.

        Returns:
            For each node its guesses, the most confident first.
        """
        paths = [tree.path(node) for node in nodes]
        return [merge_guesses([session.guesses(committed, path) for session in self._sessions]) for path in paths]

    def finish(self, committed: Sequence[int]) -> None:
        """Pass the finished sequence to all sources."""
        for session in self._sessions:
            session.finish(committed)
