"""Closed-form optimal transport for fixed children and at most one sampled child."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.laws import positive, ratio
from univer.rules.base import Coupling, Siblings, without_replacement


class GreedyTransport:
    """The optimal coupling when all children but one are chosen without randomness.

    With `S` the distribution of the sampled child `u_m` (zero on the fixed children),

        Z      = (1 - a) + sum_x [a P(x) - S(x)]+
        p(u_m) = min(1, a P(u_m) / S(u_m))
        p(x)   = [a P(x) - S(x)]+ (1 - p(u_m)) / Z          every other token, fixed children among them
        p(REJ) = (1 - a) (1 - p(u_m)) / Z

    Without a sampled child `S = 0` and `Z = 1`. Exact at every `a`; at `a = 1` the rule of Hu et al. (arXiv 2502.18779,
    theorem 5), optimal for its sampling scheme; lifted it is UniVer (Weng, Hu, Yairi, arXiv 2605.04543). Cost: one pass
    over the vocabulary per node. `Z` is a sum of what remains: one minus `sum min(a P, S)` cancels.
    """

    draft_law = "greedy"

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Any number of fixed children and at most one sampled child."""
        return sampled <= 1 and without_replacement(law, fixed, sampled)

    def couple(self, siblings: Siblings) -> Coupling:
        """Probabilities of the children in the order drawn, of the residual and of `REJ`."""
        scale, target = siblings.scale[:, None], siblings.target
        fixed = scale * target.gather(1, siblings.fixed_tokens)  # S is 0 there
        rest = self.residual(siblings).sum(-1)
        rejected = 1 - siblings.scale
        if not siblings.sampled:
            return Coupling(fixed, rest, rejected)
        token, draft = siblings.sampled_tokens, siblings.sampling_distribution()
        kept = ratio(scale * target.gather(1, token), draft.gather(1, token))
        spare = (1 - kept[:, 0]) / positive(rejected + rest + fixed.sum(-1))
        return Coupling(torch.cat([fixed * spare[:, None], kept], 1), rest * spare, rejected * spare)

    def residual(self, siblings: Siblings) -> Tensor:
        """`[a P - S]+` without the fixed children."""
        excess = siblings.target * siblings.scale[:, None]
        if siblings.draft is not None:
            excess.sub_(siblings.draft).clamp_(min=0)
        return excess.scatter_(1, siblings.fixed_tokens, 0.0)

    def expected_acceptance(self, siblings: Siblings) -> Tensor:
        """`a P(F) + sum_x min(a P(x), S(x))`, `F` the fixed children."""
        accepted = siblings.scale * siblings.target.gather(1, siblings.fixed_tokens).sum(-1)
        if siblings.draft is not None:
            accepted = accepted + (siblings.target * siblings.scale[:, None]).clamp_(max=siblings.draft).sum(-1)
        return accepted
