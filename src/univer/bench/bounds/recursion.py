"""Enclosure of recursive rejection, whose corners are most of the rules."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.bench.bounds.enclosure import BUCKET, Outcomes
from univer.bench.bounds.ranges import Range, join, stack
from univer.laws import normalise, ratio
from univer.rules.base import Siblings

NEARLY_ALL = 1e-8


class RecursionEnclosure:
    """Recursive rejection over the sampled children, then the fixed ones take their share.

    The recursion `T_{j+1} = norm([T_j - S_j]+)` runs on every token that was kept. Over the tokens of the bucket `B`
    only sums are known, and

        [T(B) - S(B)]+ <= sum_{x in B} [T(x) - S(x)]+ <= T(B)

    Args:
        replacement: whether the sampled children were drawn independently.
    """

    def __init__(self, replacement: bool = False) -> None:
        self._replacement = replacement

    def couple(self, siblings: Siblings, scale: Range) -> Outcomes:
        """Intervals of the rule's answer."""
        target, refused = _augmented(siblings, scale)
        left = Range.exactly(torch.ones_like(scale.low))
        draft = siblings.sampling_distribution() if siblings.sampled else siblings.target
        kept = []
        for slot in range(siblings.sampled):
            token = siblings.sampled_tokens[:, slot : slot + 1]
            accept = _accepted(target, draft, token)
            target, refused, total = _rejected(target, Range.exactly(draft), refused)
            # Where nothing remains, T = S and the child is kept.
            accept = Range(
                torch.where(total.high > 0, accept.low, torch.ones_like(accept.low)),
                torch.where(total.low > 0, accept.high, torch.ones_like(accept.high)),
            )
            kept.append(left * accept)
            left = left * accept.complement()
            if not self._replacement and slot + 1 < siblings.sampled:
                draft = normalise(draft.scatter(1, token, 0.0))
        fixed = left.column() * target.gather(siblings.fixed_tokens)
        residual = left * target.without(siblings.fixed_tokens).sum()
        return Outcomes(join(fixed, stack(kept)) if kept else fixed, residual, left * refused)

    def acceptance(self, siblings: Siblings, scale: Range) -> Range:
        """Intervals of `rules.recursion.expected_acceptance`."""
        target, refused = _augmented(siblings, scale)
        left = Range.exactly(torch.ones_like(scale.low))
        draft = Range.exactly(siblings.sampling_distribution() if siblings.sampled else siblings.target)
        for slot in range(siblings.sampled):
            failed = _excess(draft, target)
            left = left * failed.sum().at_most_one()
            before = draft
            target, refused, _ = _rejected(target, draft, refused)
            if not self._replacement and slot + 1 < siblings.sampled:
                draft = _next_law(before, failed)
        return (left * target.gather(siblings.fixed_tokens).sum().complement()).complement()


def _augmented(siblings: Siblings, scale: Range) -> tuple[Range, Range]:
    """`T` on tokens and `T(REJ)`."""
    return scale.column() * Range.exactly(siblings.target), scale.complement()


def _accepted(target: Range, draft: Tensor, token: Tensor) -> Range:
    """`min(1, T(u) / S(u))`."""
    chance, drawn = target.gather(token), draft.gather(1, token)
    return Range(ratio(chance.low, drawn)[:, 0], ratio(chance.high, drawn)[:, 0])


def _excess(first: Range, second: Range) -> Range:
    """`[f - g]+`; in the bucket, where only sums are known, at most all of `f`."""
    high = (first.high - second.low).clamp_(min=0)
    high[:, BUCKET] = first.high[:, BUCKET]
    return Range((first.low - second.high).clamp_(min=0), high)


def _rejected(target: Range, draft: Range, refused: Range) -> tuple[Range, Range, Range]:
    """`norm([T - S]+)` on tokens and at `REJ`, and the total before it was normalised."""
    excess = _excess(target, draft)
    total = excess.sum()
    return excess.share(excess.others() + refused.column()), refused.share(total), total + refused


def _next_law(draft: Range, failed: Range) -> Range:
    """The law that stands in for `S_{j+1}`: `norm(S_j(x) (C - f(x)))` with `f(x) = failed(x) / sum / (1 - S_j(x))`."""
    least = draft.low.clone()
    least[:, BUCKET] = 0.0  # each token there has some of the bucket's mass
    away = Range(least, draft.high).complement()
    chance = failed.share(failed.others())
    of_token = Range(chance.low / _divisor(away.high), chance.high / _divisor(away.low))
    # C - f(x) sums over the rest, for a token of the bucket over others of the bucket as well.
    weight = of_token.others()
    weight.high[:, BUCKET] = of_token.high.sum(-1)
    weights = draft * weight
    return weights.share(weights.others())


def _divisor(away: Tensor) -> Tensor:
    """`1 - S(x)`; where `S(x)` may be 1, `f(x)` outweighs all others, and larger values of it change nothing."""
    return away.clamp(min=NEARLY_ALL)
