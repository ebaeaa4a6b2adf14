"""A suffix automaton that grows with a text: where its last words occurred before, and what followed them."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from typing import NamedTuple

# States whose counts are updated for a new token, those of the longest suffixes first. Real text needs fewer than
# ten; a text that repeats one token would need as many as it has tokens, and its short suffixes hardly matter.
UPDATED = 64

Match = tuple[int, int]
START: Match = (0, 0)


class Followers(NamedTuple):
    """What followed the occurrences of a substring.

    Attributes:
        matched: length of the substring; 0 where not even a single token occurred before.
        total: number of occurrences that something followed.
        ranked: tokens with the number of times that they followed, the more frequent first, then the more recent.
    """

    matched: int
    total: int
    ranked: list[tuple[int, int]]


class SuffixAutomaton:
    """The smallest automaton that reads every substring of a text, built token by token (Blumer et al., 1985).

    A state stands for substrings that end at the same places of the text; its *link* leads to the longest of their
    suffixes that ends elsewhere as well. For every state the number of those places and the last one are kept, so that
    what followed a substring is known by count and by recency. Adding a token takes amortised constant time: the
    construction does, and counts are updated at no more than `UPDATED` states.

    A *match* is a state and the length of the substring read: the longest suffix of what was read that occurs in the
    text.

    References:
        Blumer et al., "The smallest automaton recognizing the subwords of a text", 1985; as a draft: Hu et al.,
        "SAM Decoding", arXiv 2411.10666, and Oliaro et al., "SuffixDecoding", arXiv 2411.04975.

    Example:
        >>> automaton = SuffixAutomaton([5, 6, 7, 5, 6, 8, 5])
        >>> automaton.followers(automaton.suffix)
        Followers(matched=1, total=2, ranked=[(6, 2)])
        >>> automaton.followers(automaton.read(automaton.suffix, 6))
        Followers(matched=2, total=2, ranked=[(8, 1), (7, 1)])
    """

    def __init__(self, text: Iterable[int] = ()) -> None:
        self.size = 0
        self._next: list[dict[int, int]] = [{}]
        self._link = [-1]
        self._length = [0]
        self._count = [0]
        self._last = [0]
        self._end = 0
        self.extend(text)

    @property
    def suffix(self) -> Match:
        """The match of the whole text with itself."""
        return self._end, self.size

    def extend(self, tokens: Iterable[int]) -> None:
        """Add tokens to the end of the text."""
        for token in tokens:
            self._add(token)

    def read(self, match: Match, token: int) -> Match:
        """The match after one more token, which need not be in the text."""
        state, length = match
        while token not in self._next[state]:
            state = self._link[state]
            if state < 0:
                return START
            length = self._length[state]
        return self._next[state][token], length + 1

    def followers(self, match: Match, most: int | None = None) -> Followers:
        """What followed the longest suffix of a match that something followed.

        Args:
            match: what was read.
            most: how many tokens to rank; None for all.
        """
        state, length = match
        while state and not self._next[state]:
            state = self._link[state]
            length = self._length[state]
        if not length:
            return Followers(0, 0, [])
        following = self._next[state]
        total = sum(map(self._count.__getitem__, following.values()))
        found = ((self._count[after], self._last[after], token) for token, after in following.items())
        best = sorted(found, reverse=True) if most is None else nlargest(most, found)
        return Followers(length, total, [(token, count) for count, _, token in best])

    def _add(self, token: int) -> None:
        new = self._new_state({}, 0, self.size + 1, 0)
        state = self._end
        while state >= 0 and token not in self._next[state]:
            self._next[state][token] = new
            state = self._link[state]
        if state >= 0:
            after = self._next[state][token]
            self._link[new] = after if self._length[after] == self._length[state] + 1 else self._split(state, token)
        self._end = new
        self.size += 1
        for _ in range(UPDATED):
            if new <= 0:
                break
            self._count[new] += 1
            self._last[new] = self.size
            new = self._link[new]

    def _split(self, state: int, token: int) -> int:
        """Move the substrings that `state` and `token` form to a new state: they now end where longer ones do not."""
        after = self._next[state][token]
        clone = self._new_state(
            self._next[after].copy(), self._link[after], self._length[state] + 1, self._count[after]
        )
        self._last[clone] = self._last[after]
        self._link[after] = clone
        while state >= 0 and self._next[state].get(token) == after:
            self._next[state][token] = clone
            state = self._link[state]
        return clone

    def _new_state(self, following: dict[int, int], link: int, length: int, count: int) -> int:
        self._next.append(following)
        self._link.append(link)
        self._length.append(length)
        self._count.append(count)
        self._last.append(0)
        return len(self._link) - 1
