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
        self._sessions = [(source.name, source.start(request)) for source in sources]
        self._vocabulary = request.vocabulary

    def level(self, committed: Sequence[int], tree: TreeBuilder, nodes: Sequence[int]) -> list[list[Guess]]:
        """What may follow some nodes of a tree, by all sources, without duplicates.

        Args:
            committed: all committed token ids.
            tree: the tree while it grows.
            nodes: node ids.

        Returns:
            For each node its guesses, the most confident first.

        Raises:
            ValueError: a source guesses a token that there is not.
        """
        paths = [tree.path(node) for node in nodes]
        return [merge_guesses(self._all_guesses(committed, path)) for path in paths]

    def _all_guesses(self, committed: Sequence[int], path: Sequence[int]) -> list[list[Guess]]:
        found = []
        for name, session in self._sessions:
            found.append(session.guesses(committed, path))
            for guess in found[-1]:
                if not 0 <= guess.token < self._vocabulary:
                    raise ValueError(
                        f"the guess source {name!r} guessed token {guess.token} after {list(path)}, outside the "
                        f"target's vocabulary of {self._vocabulary}"
                    )
        return found

    def finish(self, committed: Sequence[int]) -> None:
        """Pass the finished sequence to all sources."""
        for _, session in self._sessions:
            session.finish(committed)
