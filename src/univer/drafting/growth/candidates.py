"""Which tokens are worth a fixed child: the likeliest of the draft's law and what other sources guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

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


def candidates(rows: Tensor, count: int, guesses: Sequence[Sequence[Guess]]) -> list[list[Candidate]]:
    """The best tokens at every node, by falling confidence.

    Of equal ones guesses come first, in their order, and then the lowest id. Tokens of confidence 0 are left out.

    Args:
        rows: draft laws `Q_v`, `[n, V]`.
        count: how many per node at most.
        guesses: for each node what other sources propose, without duplicates.

    Returns:
        A list for each node.

    Example:
        >>> rows = torch.tensor([[0.5, 0.3, 0.2]])
        >>> [entry.token for entry in candidates(rows, 2, [[Guess(2, 0.4)]])[0]]
        [0, 2]
    """
    if count == 0:
        return [[] for _ in guesses]
    tokens, chances = top_tokens(rows, min(count, rows.shape[1]))
    guessed = [(node, guess.token) for node, own in enumerate(guesses) for guess in own]
    known = [0.0] * len(guessed)
    if guessed and rows.shape[1]:
        places, ids = torch.tensor(guessed, device=rows.device).unbind(1)
        known = rows[places, ids].tolist()
    left = iter(known)
    found = []
    for own, best, values in zip(guesses, tokens.tolist(), chances.tolist(), strict=True):
        listed = [Candidate(g.token, chance, max(g.confidence, chance)) for g, chance in zip(own, left, strict=False)]
        seen = {entry.token for entry in listed}
        listed += [Candidate(t, value, value) for t, value in zip(best, values, strict=True) if t not in seen]
        listed.sort(key=lambda entry: -entry.confidence)
        found.append([entry for entry in listed[:count] if entry.confidence > 0])
    return found
