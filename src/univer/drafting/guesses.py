"""Guesses: tokens that a source without a model expects next, each with its estimated probability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from univer.drafting.request import DraftRequest


@dataclass(frozen=True)
class Guess:
    """A token that may come next; it can become a fixed child.

    Attributes:
        token: token id of the target.
        confidence: estimated probability that the target follows with it, in (0, 1].
    """

    token: int
    confidence: float


class GuessSession(ABC):
    """A guess source working on one request; everything that changes between rounds is kept here."""

    @abstractmethod
    def guesses(self, committed: Sequence[int], path: Sequence[int]) -> list[Guess]:
        """What may follow a node.

        The answer is a function of the arguments and of what the session has seen before; nothing is random. Within a
        round `committed` stays the same, between rounds it only grows.

        Args:
            committed: all committed token ids, prompt included.
            path: tokens from the root's child down to the node; none for the root itself.

        Returns:
            Distinct tokens, the most confident first; none where nothing is known.
        """

    def finish(self, committed: Sequence[int]) -> None:
        """Learn the finished sequence. Called once at its end, not for one that was cancelled.

        Args:
            committed: all token ids, prompt included.
        """


class GuessSource(ABC):
    """Where guesses come from, with its settings. It keeps no state of a request; that is the task of its sessions.

    A source is a draft alone (`univer.drafting.guess_draft.GuessDraft`) or beside a model
    (`univer.drafting.combined.CombinedDraft`): its guesses become fixed children, so the output keeps the target's
    distribution, however wrong they are. A guess may well have `Q = 0`.

    Attributes:
        name: what it is called in texts such as `"skip=16-18+lookup"` and in reports.
    """

    name: str

    @abstractmethod
    def start(self, request: DraftRequest) -> GuessSession:
        """Start a request."""


def merge_guesses(lists: Iterable[Sequence[Guess]]) -> list[Guess]:
    """Guesses of several sources without duplicates: the larger confidence of a token counts.

    Args:
        lists: guesses of each source at one node.

    Returns:
        The most confident first; of equal ones the first source's first.

    Example:
        >>> merge_guesses([[Guess(4, 0.5)], [Guess(7, 0.6), Guess(4, 0.3)]])
        [Guess(token=7, confidence=0.6), Guess(token=4, confidence=0.5)]
    """
    best: dict[int, Guess] = {}
    for guess in (guess for guesses in lists for guess in guesses):
        if guess.token not in best or best[guess.token].confidence < guess.confidence:
            best[guess.token] = guess
    return sorted(best.values(), key=lambda guess: -guess.confidence)


def confidence(count: int, total: int, matched: int) -> float:
    """Probability of a continuation that followed `count` of `total` earlier occurrences of the last `matched` tokens.

        count / total * matched / (matched + 2)

    The fraction of occurrences with this continuation, reduced by the probability of a new one, which falls with the
    length of the match. The 2 fits samples of a small chat model at temperatures from 0 to 1: the continuation of a
    single occurrence was right in 0.26 of the cases after one matching token, 0.5 after two, 0.8 after eight; the
    number of occurrences added no information.

    Args:
        count: occurrences followed by the token, at least 1.
        total: all occurrences that were followed by something.
        matched: number of tokens that matched, at least 1.

    Returns:
        A probability; those of all continuations of one match add up to less than 1.

    Example:
        >>> confidence(1, 1, 2), confidence(3, 4, 6)
        (0.5, 0.5625)
    """
    return count / total * matched / (matched + 2)
