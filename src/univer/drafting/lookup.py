"""Prompt look-up: what followed the last words when they occurred before is proposed again; no model is needed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from univer.drafting.base import DraftRequest
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Growth, Guess, draft_tree
from univer.tree import DraftTree

# Earlier occurrences considered per n-gram, the latest ones.
OCCURRENCES = 32


class LookupDraft:
    """Proposes the continuations of earlier occurrences of the last tokens (Saxena, "Prompt Lookup Decoding", 2023).

    The longest n-gram at the end of the text that occurred before is looked up. The tokens that followed it are the
    children of the root, the more frequent and then the more recent first, and each is followed in the same way.
    Nothing is random, so all children are `fixed`. Without a match the tree is empty and the round a plain step.

    Args:
        longest: length of the longest n-gram that is looked up.
        shortest: length of the shortest one.

    Raises:
        ValueError: the lengths are not in order.
    """

    fixed_only = True
    models: Sequence[Any] = ()
    name = "lookup"

    def __init__(self, longest: int = 3, shortest: int = 1) -> None:
        if not 1 <= shortest <= longest:
            raise ValueError(f"n-gram lengths need 1 <= shortest <= longest, got {shortest} and {longest}")
        self.longest = longest
        self.shortest = shortest

    def start(self, request: DraftRequest) -> LookupSession:
        """Begin a request with an empty index."""
        return LookupSession(self, request)


class LookupSession:
    """One request of a `LookupDraft`: an index from n-grams to the positions that followed them."""

    passes = 0

    def __init__(self, draft: LookupDraft, request: DraftRequest) -> None:
        self.lengths = range(draft.longest, draft.shortest - 1, -1)
        self.vocabulary = request.vocabulary
        self.generator = request.generator
        self._followers: defaultdict[tuple[int, ...], deque[int]] = defaultdict(lambda: deque(maxlen=OCCURRENCES))
        self._indexed = 0

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree:
        """Draft a tree; see `DraftSession.propose`."""
        self._index(committed)
        # For every node the tokens down to it, and where those were found before.
        places: dict[int, tuple[list[int], list[int]]] = {0: (list(committed), self._matches(committed))}

        def guesses(tree: TreeBuilder, nodes: Sequence[int]) -> list[list[Guess]]:
            return [self._guesses(tree, node, places) for node in nodes]

        def no_rows(tree: TreeBuilder, nodes: Sequence[int]) -> Tensor:
            return torch.zeros(len(nodes), 0)

        return draft_tree(committed[-1], growth, no_rows, self.generator, torch.device("cpu"), guesses).tree

    def _guesses(self, tree: TreeBuilder, node: int, places: dict[int, tuple[list[int], list[int]]]) -> list[Guess]:
        """What followed at a node's earlier places; looks its children's places up when they are asked for."""
        if node not in places:
            text, positions = places[tree.parents[node]]
            token = tree.tokens[node]
            places[node] = [*text, token], [position + 1 for position in positions if text[position] == token]
        text, positions = places[node]
        ranked = _ranked_continuations(text, positions)
        return [Guess(token, len(found) / (len(positions) + 1)) for token, found in ranked if token < self.vocabulary]

    def settle(self, path: Sequence[int]) -> None:
        """Nothing to keep: the index is brought up to date from the committed tokens."""

    def _index(self, committed: Sequence[int]) -> None:
        for end in range(self._indexed, len(committed)):
            for length in self.lengths:
                if length <= end:
                    self._followers[tuple(committed[end - length : end])].append(end)
        self._indexed = len(committed)

    def _matches(self, committed: Sequence[int]) -> list[int]:
        for length in self.lengths:
            positions = self._followers.get(tuple(committed[-length:])) if length < len(committed) else None
            if positions:
                return list(positions)
        return []


def _ranked_continuations(text: Sequence[int], positions: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Tokens at the given positions with where they stand, by falling frequency, then by recency.

    A position never lies beyond the text: it started inside and moves on by one as the text grows by one, so that a
    repetition in progress is continued.
    """
    found: defaultdict[int, list[int]] = defaultdict(list)
    for position in positions:
        found[text[position]].append(position)
    return sorted(found.items(), key=lambda item: (-len(item[1]), -item[1][-1]))
