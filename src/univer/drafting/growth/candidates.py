"""Which tokens are worth a fixed child: the likeliest of the draft's law and what other sources guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from univer.drafting.columns import EVERY_TOKEN, Columns
from univer.drafting.growth.base import Guess
from univer.laws import top_tokens


@dataclass(frozen=True)
class Candidate:
    """A token that may become a fixed child.

    Attributes:
        token: its id.
        chance: its probability `Q_v` under the draft.
        confidence: the larger of that and what another source says.
    """

    token: int
    chance: float
    confidence: float


def candidates(
    rows: Tensor, count: int, guesses: Sequence[Sequence[Guess]], columns: Columns = EVERY_TOKEN
) -> list[list[Candidate]]:
    """The best tokens at every node, by falling confidence.

    Of equal ones guesses come first, in their order, and then the lowest id. Tokens of confidence 0 are left out.

    Args:
        rows: draft laws `Q_v`, `[n, D]`.
        count: how many per node at most.
        guesses: for each node what other sources propose, without duplicates.
        columns: which tokens the columns of the rows stand for; by default all in order.

    Returns:
        A list for each node.

    Example:
        >>> import torch
        >>> rows = torch.tensor([[0.5, 0.3, 0.2]])
        >>> [entry.token for entry in candidates(rows, 2, [[Guess(2, 0.4)]])[0]]
        [0, 2]
    """
    if count == 0:
        return [[] for _ in guesses]
    ids, chances = top_tokens(rows, min(count, rows.shape[1]))
    guessed = columns.chances(rows, [(node, guess.token) for node, own in enumerate(guesses) for guess in own])
    left = iter(guessed)
    found = []
    for own, best, values in zip(guesses, ids.tolist(), chances.tolist(), strict=True):
        listed = [Candidate(g.token, chance, max(g.confidence, chance)) for g, chance in zip(own, left, strict=False)]
        seen = {entry.token for entry in listed}
        tokens = map(columns.token, best)
        listed += [Candidate(t, value, value) for t, value in zip(tokens, values, strict=True) if t not in seen]
        listed.sort(key=lambda entry: -entry.confidence)
        found.append([entry for entry in listed[:count] if entry.confidence > 0])
    return found
