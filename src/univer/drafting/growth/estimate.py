"""How likely slots are to be accepted, before the target is asked.

The constants were fitted to 2 700 pairs of rows of one pair of language models (1.5 and 0.5 billion parameters), on
texts of the larger one at temperature 1. They only rank slots: whatever they are, trees stay exact, and the verdicts of
a request correct them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from univer.drafting.growth.candidates import Candidate

Floats = NDArray[np.float64]

# Agreement of target and draft, sum_x min(P, Q), by the entropy of the draft's law in nats.
ENTROPIES = (0.0, 0.25, 1.0, 2.0, 3.5, 5.0)
AGREEMENTS = (0.99, 0.91, 0.74, 0.6, 0.45, 0.38)
# What the likeliest token loses to the others where the two disagree.
OVERCONFIDENCE, MOST_FOR_OTHERS = 0.35, 3.0
# How much less alike the laws are without their likeliest tokens, per nat of -log m.
TAIL = 0.15
# A second sampled child against the first: per unit of disagreement, and at most. Each further one against the last.
SECOND, MOST_SECOND, FURTHER = 0.5, 0.25, 0.5
# Spread of the ratio of the laws at one token: the part that all share, and the part per nat of -log Q.
SHARED, BY_TOKEN = 0.83, 0.21


def agreement(entropies: Floats) -> Floats:
    """`kappa(H)`, the expected agreement `sum_x min(P(x), Q(x))` of a draft law of entropy `H` with the target's.

    Args:
        entropies: in nats, any shape.

    Example:
        >>> agreement(np.array([0.0, 1.5, 9.0]))
        array([0.99, 0.67, 0.38])
    """
    return np.asarray(np.interp(entropies, ENTROPIES, AGREEMENTS))


def spread(agreements: Floats) -> Floats:
    r"""Standard deviation `sigma` of `log P(x) / Q(x)`, as a log-normal ratio of mean 1 would have it.

    Then `kappa = E min(1, P / Q) = 2 Phi(-sigma / 2)`.

    Args:
        agreements: `kappa`, any shape.
    """
    return np.asarray(-2 * ndtri(agreements / 2))


def sampled_acceptance(mass: Floats, sigma: Floats) -> Floats:
    r"""Expected probability that a token sampled from `S` is accepted.

    Without the fixed children the draft has the mass `m` left, so `S = Q / m`. With `log P / Q` normal of deviation
    `sigma` and mean `-sigma^2 / 2`

        E min(1, m P / Q) = m Phi((-log m - sigma^2 / 2) / sigma) + Phi((log m - sigma^2 / 2) / sigma)

    which is `kappa` at `m = 1` and comes near `m` as `m` falls: the fewer tokens are left to the sampled child, the
    larger the part of them that it covers.

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
    """Estimates at the nodes of one level.

    Args:
        entropies: of their draft laws, in nats `[n]`.
    """

    def __init__(self, entropies: Floats) -> None:
        self._agreements = agreement(entropies)
        self._spreads = spread(self._agreements)

    def fixed(self, place: int, best: Sequence[Candidate]) -> list[float]:
        r"""Chance of each candidate to be what the target continues with.

        With `s = 1 - OVERCONFIDENCE (1 - kappa)` the likeliest token, `x_0`, has `s Q(x_0)`, and the others share what
        is left in proportion: `Q(x) (1 - s Q(x_0)) / (1 - Q(x_0))`. Another source's confidence counts where it is more
        than `Q`.

        Args:
            place: which node.
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
        """`A_1(m)`, the chance of the first sampled child `[n, K]`.

        Args:
            masses: `m` by number of fixed children `[n, K]`.
        """
        sigma = self._spreads[:, None] * (1 - TAIL * np.log(np.maximum(masses, 1e-12)))
        return sampled_acceptance(masses, sigma)

    def shares(self, most: int) -> Floats:
        """What each sampled child adds, in units of what the first one does `[n, most]`.

        Args:
            most: number of sampled children.
        """
        second = np.minimum(MOST_SECOND, SECOND * (1 - self._agreements))
        shares = np.ones((len(second), most))
        for number in range(1, most):
            shares[:, number] = second * FURTHER ** (number - 1)
        return shares

    def drawn(self, place: int, mass: float, chance: float) -> float:
        """Chance that the first sampled child is accepted, now that its token is known.

        The less likely its token was, the less the ratio of the two laws there is known.

        Args:
            place: which node.
            mass: what the draft's law has left without the fixed children.
            chance: its token's probability under the draft's law.
        """
        sigma = np.hypot(SHARED * self._spreads[place], BY_TOKEN * np.log(max(chance, 1e-9)))
        return float(sampled_acceptance(np.array(mass), sigma))
