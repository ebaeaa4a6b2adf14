"""Plausible wrong variants of the one-step rules, for the audit to catch. Everything here is wrong on purpose."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.laws import ratio
from univer.rules import (
    Coupling,
    GreedyTransport,
    KSeq,
    MaximalCoupling,
    Membership,
    RecursiveRejectionWithoutReplacement,
    Siblings,
)


class SoftmaxedResidual(GreedyTransport):
    """The residual goes through a softmax instead of being divided by its sum."""

    def couple(self, siblings: Siblings) -> Coupling:
        """The right probabilities."""
        return GreedyTransport().couple(siblings)

    def residual(self, siblings: Siblings) -> Tensor:
        """`softmax([a P - S]+)`."""
        return torch.softmax(super().residual(siblings), -1)


class RawDraftForSiblings(RecursiveRejectionWithoutReplacement):
    """The second sibling is tested against `Q` itself, not against what the first draw left of it."""

    replacement = True


class TokenZeroed(MaximalCoupling):
    """The test of one rule, the residual of another: `P` without the rejected token instead of `[P - Q]+`."""

    def couple(self, siblings: Siblings) -> Coupling:
        """The right probabilities."""
        return MaximalCoupling().couple(siblings)

    def residual(self, siblings: Siblings) -> Tensor:
        """`a P` with the child's token set to zero."""
        return (siblings.target * siblings.scale[:, None]).scatter_(1, siblings.tokens, 0.0)


class FreshDraws(Membership):
    """Each branch draws a target token of its own, as if its siblings had not failed before it."""

    def couple(self, siblings: Siblings) -> Coupling:
        """`p(u) = a P(u) prod (1 - a P(w))` over the siblings `w` before."""
        chance = siblings.scale[:, None] * siblings.target.gather(1, siblings.tokens)
        failed = torch.cumprod(1 - chance, 1)
        before = torch.cat([torch.ones_like(failed[:, :1]), failed[:, :-1]], 1)
        left = failed[:, -1]
        rest = self.residual(siblings).sum(-1)
        share = ratio(rest, rest + 1 - siblings.scale)
        return Coupling(chance * before, left * share, left * (1 - share))


class ThresholdOfTarget(KSeq):
    """`gamma` is found for `P` instead of the augmented target."""

    def _threshold(self, siblings: Siblings) -> tuple[Tensor, Tensor]:
        gamma, _ = super()._threshold(siblings.scaled(torch.ones_like(siblings.scale)))
        target = siblings.target * siblings.scale[:, None]
        return gamma, torch.minimum(target / gamma[:, None], siblings.sampling_distribution()).sum(-1)


class ThresholdTooSmall(KSeq):
    """The bisection for `gamma` is cut short at its lower end, 1."""

    def _threshold(self, siblings: Siblings) -> tuple[Tensor, Tensor]:
        gamma = torch.ones_like(siblings.scale)
        target = siblings.target * siblings.scale[:, None]
        return gamma, torch.minimum(target, siblings.sampling_distribution()).sum(-1)
