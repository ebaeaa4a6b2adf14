"""Recursive rejection: test the sampled children one after the other, each against what the earlier ones left."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from univer.laws import normalise, positive, ratio
from univer.rules.base import Coupling, Siblings


@dataclass(frozen=True)
class Recursion:
    """State after the last sampled child was rejected.

    Attributes:
        kept: probability that the outcome is the j-th sampled child, `[n, r]`.
        left: probability that none of them is, `[n]`.
        target: `T_{r+1}` on tokens, `[n, V]`.
        rejected: `T_{r+1}(REJ)`, `[n]`.
    """

    kept: Tensor
    left: Tensor
    target: Tensor
    rejected: Tensor


def recursive_rejection(siblings: Siblings, replacement: bool) -> Recursion:
    """Run the recursion `T_{j+1} = norm([T_j - S_j]+)` over the sampled children.

    `u_j` is the outcome with probability `min(1, T_j(u_j) / S_j(u_j))` if no earlier one was. `S_{j+1}` is `S_j`
    without `u_j`, renormalised, or `S_j` itself with replacement. Where `[T_j - S_j]+` is zero everywhere, `T_j = S_j`
    and `u_j` is kept with probability 1.

    Args:
        siblings: the nodes, with at least one sampled child each.
        replacement: whether the children were drawn independently.

    Returns:
        The probabilities and what is left, as new tensors.
    """
    target = siblings.target * siblings.scale[:, None]
    rejected = 1 - siblings.scale
    draft = siblings.sampling_distribution()
    left = torch.ones_like(rejected)
    kept = []
    for slot in range(siblings.sampled):
        token = siblings.sampled_tokens[:, slot : slot + 1]
        accept = ratio(target.gather(1, token), draft.gather(1, token))[:, 0]
        target.sub_(draft).clamp_(min=0)
        total = target.sum(-1) + rejected
        accept = torch.where(total > 0, accept, torch.ones_like(accept))
        kept.append(left * accept)
        left = left * (1 - accept)
        target.div_(positive(total)[:, None])
        rejected = rejected / positive(total)
        if not replacement and slot + 1 < siblings.sampled:
            draft = normalise(draft.scatter(1, token, 0.0))
    return Recursion(torch.stack(kept, 1), left, target, rejected)


def expected_acceptance(siblings: Siblings, replacement: bool) -> Tensor:
    """Mean of `sum_u p(u)` over the draw of the children.

    `1 - prod_j (1 - b_j) (1 - T_{r+1}(F))` with `b_j = sum_x min(T_j(x), S_j(x))`. Exact with replacement and for one
    sampled child. Without replacement `S_{j+1}` depends on the token drawn; its mean over the rejected tokens stands in
    for it,

        S_{j+1}(x) = S_j(x) (C - f(x)),   f(u) = [S_j - T_j]+(u) / (1 - b_j) / (1 - S_j(u)),   C = sum_u f(u)

    which is an approximation from the third term of the product on.

    Args:
        siblings: the nodes; tokens of sampled children are not used.
        replacement: whether the children are drawn independently.

    Returns:
        `[n]`, in [0, 1].
    """
    target = siblings.target * siblings.scale[:, None]
    rejected = 1 - siblings.scale
    left = torch.ones_like(rejected)
    draft = siblings.sampling_distribution() if siblings.sampled else target
    for slot in range(siblings.sampled):
        failed = (draft - target).clamp_(min=0)
        missed = failed.sum(-1)
        left = left * missed
        target.sub_(draft).clamp_(min=0)
        total = positive(target.sum(-1) + rejected)
        target.div_(total[:, None])
        rejected = rejected / total
        if not replacement and slot + 1 < siblings.sampled:
            failed.div_(positive(missed)[:, None]).div_(positive(1 - draft))
            draft = normalise((failed.sum(-1, keepdim=True) - failed).clamp_(min=0).mul_(draft))
    return 1 - left * (1 - target.gather(1, siblings.fixed_tokens).sum(-1))


class SequentialRejection:
    """The answers of a rule that is recursive rejection and nothing else.

    Attributes:
        replacement: whether the children are drawn independently.
    """

    replacement: bool

    def couple(self, siblings: Siblings) -> Coupling:
        """Probabilities of the children in the order drawn, of the residual and of `REJ`."""
        state = recursive_rejection(siblings, self.replacement)
        return Coupling(state.kept, state.left * state.target.sum(-1), state.left * state.rejected)

    def residual(self, siblings: Siblings) -> Tensor:
        """`T_{m+1}` on tokens."""
        return recursive_rejection(siblings, self.replacement).target

    def expected_acceptance(self, siblings: Siblings) -> Tensor:
        """Exact with replacement and for one child; see `recursion.expected_acceptance` for more."""
        return expected_acceptance(siblings, self.replacement)
