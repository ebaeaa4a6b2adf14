"""How likely slots are to be accepted, before the target is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from univer.drafting.growth.candidates import Candidate

Floats = NDArray[np.float64]

# Agreement of target and draft, sum_x min(P, Q), by the entropy of the draft's law in nats.
ENTROPIES = (0.0, 1.0, 3.0, 5.0)
AGREEMENTS = (0.95, 0.85, 0.66, 0.5)
# What a further sampled child takes of what those before it leave.
FURTHER = 0.5


def agreement(entropies: Floats) -> Floats:
    """`kappa(H)`, the expected agreement `sum_x min(P(x), Q(x))` of a draft law of entropy `H` with the target's.

    Args:
        entropies: in nats, any shape.

    Example:
        >>> agreement(np.array([0.0, 2.0, 9.0]))
        array([0.95 , 0.755, 0.5  ])
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
        array([0.66 , 0.284])
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
        """Chance of each candidate to be what the target continues with: `Q (1 + kappa) / 2`, or a better guess."""
        share = (1 + float(self._agreements[place])) / 2
        return [entry.confidence if entry.confidence > entry.chance else entry.chance * share for entry in best]

    def sampled(self, masses: Floats) -> Floats:
        """`A_1(m)`, the chance of the first sampled child `[n, K]`.

        Args:
            masses: `m` by number of fixed children `[n, K]`.
        """
        return sampled_acceptance(masses, self._spreads[:, None])

    def tails(self, masses: Floats, first: Floats, most: int) -> Iterator[Floats]:
        """`A_r(m)` for `r = 0 .. most`: every further sampled child takes a part of what the ones before leave.

        Args:
            masses: `m`, `[n, K]`.
            first: `A_1(m)`, same shape.
            most: largest `r`.
        """
        yield np.zeros_like(masses)
        left = masses - np.minimum(first, masses)
        for _ in range(most):
            yield masses - left
            left = left * (1 - FURTHER)

    def drawn(self, place: int, mass: float, chance: float) -> float:
        """Chance that a sampled child is accepted, now that its token is known.

        Args:
            place: which node.
            mass: what the draft's law had left when it was drawn.
            chance: its token's probability under the draft's law.
        """
        return float(sampled_acceptance(np.array(mass), self._spreads[place]))
