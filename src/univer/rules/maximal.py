"""Maximal coupling of one sampled child with the target."""

from __future__ import annotations

from torch import Tensor

from univer.laws import positive, ratio
from univer.rules.base import Coupling, Siblings


class MaximalCoupling:
    """Keep the drafted token as often as any coupling can.

    With `S = Q` the distribution of the only child `u` and `T = a P` on tokens,

        p(u)   = min(1, a P(u) / Q(u))
        Z      = (1 - a) + sum_x [a P(x) - Q(x)]+
        p(x)   = [a P(x) - Q(x)]+ (1 - p(u)) / Z            every other token
        p(REJ) = (1 - a) (1 - p(u)) / Z

    Exact at every scale `a`, and optimal: `E p(u) = sum_x min(a P(x), Q(x))`. At `a = 1` this is token verification
    (Leviathan et al., arXiv 2211.17192, algorithm 1); lifted it is Block Verification (Sun et al., arXiv 2403.10444,
    algorithm 2). Cost: one pass over the vocabulary per node.
    """

    draft_law = "chain"

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """One sampled child and nothing else, whatever the sampling scheme."""
        return fixed == 0 and sampled == 1

    def couple(self, siblings: Siblings) -> Coupling:
        """Probabilities of the child, of the residual and of `REJ`."""
        token, draft = siblings.tokens, siblings.sampling_distribution()
        kept = ratio(siblings.scale[:, None] * siblings.target.gather(1, token), draft.gather(1, token))
        excess = self.residual(siblings).sum(-1)
        rejected = 1 - siblings.scale
        spare = (1 - kept[:, 0]) / positive(excess + rejected)
        return Coupling(kept, excess * spare, rejected * spare)

    def residual(self, siblings: Siblings) -> Tensor:
        """`[a P - Q]+`."""
        return (siblings.target * siblings.scale[:, None]).sub_(siblings.sampling_distribution()).clamp_(min=0)

    def expected_acceptance(self, siblings: Siblings) -> Tensor:
        """`sum_x min(a P(x), Q(x))`."""
        return (siblings.target * siblings.scale[:, None]).clamp_(max=siblings.sampling_distribution()).sum(-1)
