"""Guesses from a suffix automaton over the request's own text, and over shared texts where a store is passed."""

from __future__ import annotations

from collections.abc import Sequence

from univer.drafting.automaton import Followers, Match, SuffixAutomaton
from univer.drafting.guesses import Guess, GuessSession, GuessSource, confidence, merge_guesses
from univer.drafting.request import DraftRequest
from univer.drafting.shared_text import SharedText


class AutomatonSource(GuessSource):
    """Guesses what followed earlier occurrences of the longest suffix of the text that occurred before.

    Unlike n-gram look-up it has no limit on the length of the match, counts every occurrence, and follows a path
    through any tokens: below a token that breaks the match it continues with the longest suffix that still occurs.

    Args:
        shortest: a shorter match than this many tokens gives no guesses.
        most: largest number of guesses at a node.
        shared: texts of other requests to guess from as well; the request's own text is added when it ends. With such a
            store a seed alone no longer reproduces a request, see `SharedText`.

    Raises:
        ValueError: a number is below 1.

    References:
        Hu et al., "SAM Decoding", arXiv 2411.10666; Oliaro et al., "SuffixDecoding", arXiv 2411.04975.
    """

    name = "automaton"

    def __init__(self, shortest: int = 1, most: int = 8, shared: SharedText | None = None) -> None:
        if shortest < 1 or most < 1:
            raise ValueError(f"shortest match and number of guesses must be at least 1, got {shortest} and {most}")
        self.shortest = shortest
        self.most = most
        self.shared = shared

    def start(self, request: DraftRequest) -> AutomatonSession:
        """Start a request with an empty automaton."""
        return AutomatonSession(self, request)


class AutomatonSession(GuessSession):
    """One request of an `AutomatonSource`: the automaton of its text, and the matches of the present round."""

    def __init__(self, source: AutomatonSource, request: DraftRequest) -> None:
        self.source = source
        self.vocabulary = request.vocabulary
        self.automaton = SuffixAutomaton()
        self._matches: dict[tuple[int, ...], Match] = {}

    def guesses(self, committed: Sequence[int], path: Sequence[int]) -> list[Guess]:
        """What may follow a node; see `GuessSession.guesses`."""
        if len(committed) > self.automaton.size or not self._matches:
            self.automaton.extend(committed[self.automaton.size :])
            self._matches = {(): self.automaton.suffix}
        most = self.source.most
        own = self._guesses(self.automaton.followers(self._match(tuple(path)), most))
        if (shared := self.source.shared) is None:
            return own
        return merge_guesses([own, self._guesses(shared.followers([*committed, *path], most))])[:most]

    def finish(self, committed: Sequence[int]) -> None:
        """Add the finished text to the shared ones."""
        if self.source.shared is not None:
            self.source.shared.add(committed)

    def _match(self, path: tuple[int, ...]) -> Match:
        if path not in self._matches:
            self._matches[path] = self.automaton.read(self._match(path[:-1]), path[-1])
        return self._matches[path]

    def _guesses(self, found: Followers) -> list[Guess]:
        if found.matched < self.source.shortest:
            return []
        return [
            Guess(token, confidence(count, found.total, found.matched))
            for token, count in found.ranked
            if token < self.vocabulary
        ]
