"""How likely slots are to be accepted, before the target is run.

The constants were fitted to 2 700 pairs of distributions of one pair of language models (1.5 and 0.5 billion
parameters), on texts of the larger one at temperature 1. They only rank slots: trees stay exact whatever they are, and
the verdicts of a request correct them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from torch import Tensor

from univer.drafting.columns import EVERY_TOKEN, Columns
from univer.drafting.growth.base import Guess
from univer.laws import top_tokens
from univer.topology import Floats

# Agreement of target and draft, sum_x min(P, Q), by the entropy of the draft distribution in nats.
ENTROPIES = (0.0, 0.25, 1.0, 2.0, 3.5, 5.0)
AGREEMENTS = (0.99, 0.91, 0.74, 0.6, 0.45, 0.38)
# The share that the likeliest token loses to the others where target and draft disagree, and the most that others gain.
OVERCONFIDENCE, MOST_FOR_OTHERS = 0.35, 3.0
# How much less alike the distributions are without their likeliest tokens, per nat of -log m.
TAIL = 0.15
# Acceptance of a second sampled child relative to the first: per unit of disagreement, and at most. Each further child
# relative to the one before it.
SECOND, MOST_SECOND, FURTHER = 0.5, 0.25, 0.5
# Spread of the ratio P / Q at one token: the part common to all tokens, and the part per nat of -log Q.
SHARED, BY_TOKEN = 0.83, 0.21


@dataclass(frozen=True)
class Candidate:
    """A token that may become a fixed child.

    Attributes:
        token: its id.
        chance: its probability `Q_v` under the draft.
        confidence: the larger of that and the confidence of another source.
    """

    token: int
    chance: float
    confidence: float


def candidates(
    rows: Tensor, count: int, guesses: Sequence[Sequence[Guess]], columns: Columns = EVERY_TOKEN
) -> list[list[Candidate]]:
    """Find the best tokens for fixed children at every node.

    Ties go to guesses first, in their order, then to the lowest id. Tokens of confidence 0 are left out.

    Args:
        rows: draft distributions `Q_v`, `[n, D]`.
        count: most tokens per node.
        guesses: for each node the tokens that other sources propose, without duplicates.
        columns: which token each column of the rows stands for; by default column `x` is token `x`.

    Returns:
        For each node its candidates by falling confidence.

    Example:
        >>> import torch
        >>> rows = torch.tensor([[0.5, 0.3, 0.2]])
        >>> [entry.token for entry in candidates(rows, 2, [[Guess(2, 0.4)]])[0]]
        [0, 2]
    """
    if count == 0:
        return [[] for _ in guesses]
    ids, chances = top_tokens(rows, min(count, rows.shape[1]))
    guessed = [(node, guess.token) for node, proposed in enumerate(guesses) for guess in proposed]
    guess_chances = iter(columns.chances(rows, guessed))
    found = []
    for proposed, best, values in zip(guesses, ids.tolist(), chances.tolist(), strict=True):
        listed = [
            Candidate(guess.token, chance, max(guess.confidence, chance))
            for guess, chance in zip(proposed, guess_chances, strict=False)
        ]
        seen = {entry.token for entry in listed}
        tokens = map(columns.token, best)
        listed += [Candidate(t, value, value) for t, value in zip(tokens, values, strict=True) if t not in seen]
        listed.sort(key=lambda entry: -entry.confidence)
        found.append([entry for entry in listed[:count] if entry.confidence > 0])
    return found


def agreement(entropies: Floats) -> Floats:
    """Expected agreement `kappa(H) = sum_x min(P(x), Q(x))` of a draft distribution of entropy `H` with the target's.

    Args:
        entropies: in nats, any shape.

    Example:
        >>> agreement(np.array([0.0, 1.5, 9.0]))
        array([0.99, 0.67, 0.38])
    """
    return np.asarray(np.interp(entropies, ENTROPIES, AGREEMENTS))


def spread(agreements: Floats) -> Floats:
    r"""Standard deviation `sigma` of `log P(x) / Q(x)`, if the ratio is log-normal with mean 1.

    Then `kappa = E min(1, P / Q) = 2 Phi(-sigma / 2)`.

    Args:
        agreements: `kappa`, any shape.
    """
    return np.asarray(-2 * ndtri(agreements / 2))


def sampled_acceptance(mass: Floats, sigma: Floats) -> Floats:
    r"""Expected probability that a token sampled from `S` is accepted.

    The fixed children leave the draft distribution the mass `m`, so `S = Q / m`. If `log P / Q` is normal with standard
    deviation `sigma` and mean `-sigma^2 / 2`,

        E min(1, m P / Q) = m Phi((-log m - sigma^2 / 2) / sigma) + Phi((log m - sigma^2 / 2) / sigma)

    which is `kappa` at `m = 1` and approaches `m` as `m` falls: the less mass is left to the sampled child, the larger
    the share of it that the child covers.

    Args:
        mass: `m`, any shape.
        sigma: same shape.

    Example:
        >>> sampled_acceptance(np.array([1.0, 0.3]), spread(np.array([0.66, 0.66]))).round(3)
        array([0.66 , 0.282])
    """
    sigma = np.maximum(sigma, 1e-6)
    logarithm = np.log(np.maximum(mass, 1e-12))
    low = mass * ndtr((-logarithm - sigma**2 / 2) / sigma)
    return np.where(mass > 1e-12, low + ndtr((logarithm - sigma**2 / 2) / sigma), 0.0)


class Estimates:
    """Estimates of acceptance at the nodes of one level.

    Args:
        entropies: entropies of their draft distributions, `[n]`, in nats.
    """

    def __init__(self, entropies: Floats) -> None:
        self._agreements = agreement(entropies)
        self._spreads = spread(self._agreements)

    def fixed(self, place: int, best: Sequence[Candidate]) -> list[float]:
        r"""Probability that the target continues with each candidate.

        With `s = 1 - OVERCONFIDENCE (1 - kappa)` the likeliest token, `x_0`, has `s Q(x_0)`, and the others share the
        rest in proportion: `Q(x) (1 - s Q(x_0)) / (1 - Q(x_0))`. Another source's confidence replaces this where it is
        larger than `Q`.

        Args:
            place: index of the node in the level.
            best: its candidates.
        """
        top = max((entry.chance for entry in best), default=0.0)
        share = 1 - OVERCONFIDENCE * (1 - float(self._agreements[place]))
        others = min((1 - share * top) / max(1 - top, 1e-6), MOST_FOR_OTHERS)
        return [
            entry.confidence
            if entry.confidence > entry.chance
            else min(1.0, entry.chance * (share if entry.chance == top else others))
            for entry in best
        ]

    def sampled(self, masses: Floats) -> Floats:
        """Acceptance `A_1(m)` of the first sampled child, `[n, K]`.

        Args:
            masses: `m` by number of fixed children, `[n, K]`.
        """
        sigma = self._spreads[:, None] * (1 - TAIL * np.log(np.maximum(masses, 1e-12)))
        return sampled_acceptance(masses, sigma)

    def shares(self, most: int) -> Floats:
        """What each sampled child adds relative to the first one, `[n, most]`.

        Args:
            most: number of sampled children.
        """
        second = np.minimum(MOST_SECOND, SECOND * (1 - self._agreements))
        shares = np.ones((len(second), most))
        for number in range(1, most):
            shares[:, number] = second * FURTHER ** (number - 1)
        return shares

    def drawn(self, place: int, mass: float, chance: float) -> float:
        """Acceptance of the first sampled child once its token is known.

        The less likely the token was, the more uncertain the ratio `P / Q` is there.

        Args:
            place: index of the node in the level.
            mass: `m`, what the fixed children leave of the draft distribution.
            chance: probability of the token in the draft distribution.
        """
        sigma = np.hypot(SHARED * self._spreads[place], BY_TOKEN * np.log(max(chance, 1e-9)))
        return float(sampled_acceptance(np.array(mass), sigma))
