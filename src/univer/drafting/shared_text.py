"""Texts that requests share: guesses for one request come from the texts of others as well."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Lock

from univer.drafting.automaton import START, Followers, Match, SuffixAutomaton

# Stands between two texts; no token has this id, so that no match runs from one into the next.
SEPARATOR = -1
# How much of a text's end is compared with the store.
LONGEST_MATCH = 64


class SharedText:
    """Texts of finished requests in one suffix automaton of bounded size.

    Pass one such object to the `AutomatonSource` of several requests: each of them adds its text when it ends, and
        `add`
    adds others, such as documents that answers will quote. The guesses, and with them the tokens that a seed gives,
    then depend on earlier requests: the distribution of the output is unchanged, but a seed alone does *not* reproduce
    a request that uses a store. Safe to use from several threads.

    Args:
        limit: number of tokens kept, separators included; beyond it the oldest texts are removed, down to half of it.

    Raises:
        ValueError: the limit is too small to keep anything.

    Example:
        >>> store = SharedText()
        >>> store.add([5, 6, 7, 8])
        >>> store.followers([1, 2, 6, 7])
        Followers(matched=2, total=1, ranked=[(8, 1)])
    """

    def __init__(self, limit: int = 65_536) -> None:
        if limit < 4:
            raise ValueError(f"a store of shared texts needs a limit of at least 4 tokens, not {limit}")
        self.limit = limit
        self._texts: deque[list[int]] = deque()
        self._automaton = SuffixAutomaton()
        self._lock = Lock()

    def __len__(self) -> int:
        """Number of tokens kept, separators included."""
        return self._automaton.size

    def add(self, tokens: Sequence[int]) -> None:
        """Add a text. Of a text longer than half the limit, only the end is added.

        Args:
            tokens: token ids of the target.
        """
        half = self.limit // 2
        text = [*map(int, tokens[max(0, len(tokens) - half + 1) :]), SEPARATOR]
        with self._lock:
            self._texts.append(text)
            if len(self) + len(text) <= self.limit:
                self._automaton.extend(text)
                return
            while sum(map(len, self._texts)) > half:
                self._texts.popleft()
            self._automaton = SuffixAutomaton(token for kept in self._texts for token in kept)

    def followers(self, text: Sequence[int], most: int | None = None) -> Followers:
        """What followed the longest end of a text that occurs in the store; see `SuffixAutomaton.followers`.

        Occurrences at the end of a stored text count in the total.

        Args:
            text: token ids; no more than the last `LONGEST_MATCH` are compared.
            most: how many tokens to rank; None for all.
        """
        with self._lock:
            match: Match = START
            for token in text[-LONGEST_MATCH:]:
                match = self._automaton.read(match, token)
            matched, total, ranked = self._automaton.followers(match, most)
        return Followers(matched, total, [(token, count) for token, count in ranked if token != SEPARATOR])
