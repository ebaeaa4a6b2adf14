"""Fixed children together with several sampled ones: the family behind the closed forms."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.rules.base import Coupling, Siblings, without_replacement
from univer.rules.recursion import Recursion, expected_acceptance, recursive_rejection


class MixedRejection:
    """Recursive rejection over the sampled children, then the fixed ones take their share of what is left.

    `F` are the `k` fixed children, `S_1 = norm(Q off F)`, and `u_1..u_r` drawn from it without replacement. Recursive
    rejection runs over `u_1..u_r`; if none is the outcome, it is drawn from `T_{r+1}`: a fixed child, a residual token
    or `REJ`. The corners are known rules: `k = 0, r = 1` maximal coupling, `k = 0` RRSw, `r = 1` the closed form of Hu
    et al., `r = 0` membership.

    Exact at every scale. Lifted, this is `univer-mixed`. Cost: `r` passes over the vocabulary per node.
    """

    draft_law = "mixed"

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Everything drawn without replacement."""
        return without_replacement(law, fixed, sampled)

    def couple(self, siblings: Siblings) -> Coupling:
        """Probabilities of the children in the order drawn, of the residual and of `REJ`."""
        state = _run(siblings)
        fixed = state.target.gather(1, siblings.fixed_tokens)
        rest = state.target.scatter_(1, siblings.fixed_tokens, 0.0).sum(-1)
        children = torch.cat([state.left[:, None] * fixed, state.kept], 1)
        return Coupling(children, state.left * rest, state.left * state.rejected)

    def residual(self, siblings: Siblings) -> Tensor:
        """`T_{r+1}` without the fixed children."""
        return _run(siblings).target.scatter_(1, siblings.fixed_tokens, 0.0)

    def expected_acceptance(self, siblings: Siblings) -> Tensor:
        """Exact for at most one sampled child; see `recursion.expected_acceptance` for more."""
        return expected_acceptance(siblings, replacement=False)


def _run(siblings: Siblings) -> Recursion:
    if siblings.sampled:
        return recursive_rejection(siblings, replacement=False)
    scale = siblings.scale
    none = scale.new_zeros(len(scale), 0)
    return Recursion(none, torch.ones_like(scale), siblings.target * scale[:, None], 1 - scale)
