"""Enclosure of K-SEQ."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.bench.bounds.enclosure import BUCKET, Outcomes
from univer.bench.bounds.ranges import Range
from univer.laws import ratio
from univer.rules.base import Siblings
from univer.rules.kseq import BISECTIONS


class KSeqEnclosure:
    """Sequential tests of independent draws at one threshold.

    Over the tokens of the bucket `0 <= sum min(T / gamma, Q) <= min(T(B) / gamma, Q(B))`. The threshold solves
    `(1 - (1 - beta)^K) / beta = gamma`; its left side falls with `beta`, so that a larger coverage has a smaller
    threshold, and the ends of the coverage give the ends of `gamma`.
    """

    def couple(self, siblings: Siblings, scale: Range) -> Outcomes:
        """Intervals of the rule's answer."""
        target, draft = scale.column() * Range.exactly(siblings.target), siblings.sampling_distribution()
        gamma, beta = _threshold(target, draft, siblings.sampled)
        chance, drawn = target.gather(siblings.tokens), draft.gather(1, siblings.tokens)
        accept = Range(ratio(chance.low, gamma.high[:, None] * drawn), ratio(chance.high, gamma.low[:, None] * drawn))
        failed = accept.complement()
        failed = Range(failed.low.cumprod(-1), failed.high.cumprod(-1))
        before = Range(_shifted(failed.low), _shifted(failed.high))
        factor = Range(_factor(beta.high, siblings.sampled), _factor(beta.low, siblings.sampled))
        rest, refused = _remainder(target, draft, gamma, factor).sum(), scale.complement()
        left = Range(failed.low[:, -1], failed.high[:, -1])
        return Outcomes(accept * before, left * rest.share(refused), left * refused.share(rest))

    def acceptance(self, siblings: Siblings, scale: Range) -> Range:
        """`1 - (1 - beta)^K`, which rises with `beta`."""
        target = scale.column() * Range.exactly(siblings.target)
        _, beta = _threshold(target, siblings.sampling_distribution(), siblings.sampled)
        missed = beta.complement()
        return Range(missed.low**siblings.sampled, missed.high**siblings.sampled).complement()


def _threshold(target: Range, draft: Tensor, count: int) -> tuple[Range, Range]:
    """`gamma` and `beta`, `[n]`."""

    def least(gamma: Tensor) -> Tensor:
        covered = torch.minimum(target.low / gamma[:, None], draft)
        covered[:, BUCKET] = 0.0
        return covered.sum(-1)

    def most(gamma: Tensor) -> Tensor:
        return torch.minimum(target.high / gamma[:, None], draft).sum(-1).clamp_(max=1)

    ends = []
    for coverage in (most, least):
        low = torch.ones_like(target.low[:, 0])
        high = torch.full_like(low, count)
        for _ in range(BISECTIONS[low.dtype] if count > 1 else 0):
            middle = (low + high) / 2
            enough = _factor(coverage(middle), count) <= middle
            low, high = torch.where(enough, low, middle), torch.where(enough, middle, high)
        ends.append(high)
    gamma = Range(*ends)
    return gamma, Range(least(gamma.high), most(gamma.low))


def _remainder(target: Range, draft: Tensor, gamma: Range, factor: Range) -> Range:
    """`[T - min(T / gamma, Q) factor]+`, which is the larger of `T (1 - factor / gamma)` and `T - Q factor`."""
    least, most = factor.low[:, None], factor.high[:, None]
    low = torch.maximum(target.low * (1 - most / gamma.low[:, None]), target.low - draft * most).clamp_(min=0)
    high = torch.maximum(target.high * (1 - least / gamma.high[:, None]), target.high - draft * least).clamp_(min=0)
    high[:, BUCKET] = target.high[:, BUCKET]
    return Range(low, high)


def _shifted(failed: Tensor) -> Tensor:
    return torch.cat([torch.ones_like(failed[:, :1]), failed[:, :-1]], 1)


def _factor(beta: Tensor, count: int) -> Tensor:
    """`(1 - (1 - beta)^K) / beta`, which falls with `beta`."""
    total = torch.ones_like(beta)
    for _ in range(count - 1):
        total = total * (1 - beta) + 1
    return total
