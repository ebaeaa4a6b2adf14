"""Prompt look-up: guesses what followed earlier occurrences of the last tokens; no model is needed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from univer.drafting.guesses import Guess, GuessSession, GuessSource, confidence
from univer.drafting.request import DraftRequest

# Earlier occurrences considered per n-gram, the latest ones.
OCCURRENCES = 32


class LookupSource(GuessSource):
    """Guesses the continuations of earlier occurrences of the last tokens (Saxena, "Prompt Lookup Decoding", 2023).

    The longest n-gram at the end of the text that occurred before is looked up. The tokens that followed it are the
    guesses at the root, the more frequent and then the more recent first. Below, each occurrence is followed as long as
    it agrees with the path; where none does, the n-gram at the path's own end is looked up.

    Args:
        longest: length of the longest n-gram that is looked up.
        shortest: length of the shortest one.

    Raises:
        ValueError: the lengths are not in order.
    """

    name = "lookup"

    def __init__(self, longest: int = 3, shortest: int = 1) -> None:
        if not 1 <= shortest <= longest:
            raise ValueError(f"n-gram lengths need 1 <= shortest <= longest, got {shortest} and {longest}")
        self.longest = longest
        self.shortest = shortest

    def start(self, request: DraftRequest) -> LookupSession:
        """Start a request with an empty index."""
        return LookupSession(self, request)


class LookupSession(GuessSession):
    """One request of a `LookupSource`: an index from n-grams to the positions that followed them."""

    def __init__(self, source: LookupSource, request: DraftRequest) -> None:
        self.source = source
        self.vocabulary = request.vocabulary
        self._followers: defaultdict[tuple[int, ...], deque[int]] = defaultdict(lambda: deque(maxlen=OCCURRENCES))
        self._indexed = 0
        # Of every node of the round: how many tokens matched, and the positions that followed them.
        self._places: dict[tuple[int, ...], tuple[int, list[int]]] = {}

    def guesses(self, committed: Sequence[int], path: Sequence[int]) -> list[Guess]:
        """What may follow a node; see `GuessSession.guesses`."""
        if len(committed) > self._indexed:
            self._index(committed)
            self._places = {}
        text = [*committed, *path]
        matched, positions = self._place(text, tuple(path))
        # A position is never beyond the end of the text: it advances by one as the text grows by one, so a repetition
        # in progress continues.
        found: defaultdict[int, list[int]] = defaultdict(list)
        for position in positions:
            found[text[position]].append(position)
        ranked = sorted(found.items(), key=lambda item: (-len(item[1]), -item[1][-1]))
        return [
            Guess(token, confidence(len(places), len(positions), matched))
            for token, places in ranked
            if token < self.vocabulary
        ]

    def _place(self, text: Sequence[int], path: tuple[int, ...]) -> tuple[int, list[int]]:
        """Where the end of a text, whose last tokens are the path, occurred before.

        Args:
            text: committed tokens and the path.
            path: tokens from the root's child down.

        Returns:
            Number of tokens that matched, and the positions in the text that followed them.
        """
        if path not in self._places:
            matched, positions = self._place(text[:-1], path[:-1]) if path else (0, [])
            continuing = [position + 1 for position in positions if text[position] == path[-1]]
            self._places[path] = (matched + 1, continuing) if continuing else self._look_up(text)
        return self._places[path]

    def _look_up(self, text: Sequence[int]) -> tuple[int, list[int]]:
        for length in range(self.source.longest, self.source.shortest - 1, -1):
            positions = self._followers.get(tuple(text[-length:])) if length < len(text) else None
            if positions:
                return length, list(positions)
        return 0, []

    def _index(self, committed: Sequence[int]) -> None:
        for end in range(self._indexed, len(committed)):
            for length in range(self.source.shortest, min(self.source.longest, end) + 1):
                self._followers[tuple(committed[end - length : end])].append(end)
        self._indexed = len(committed)
