"""Draw from the target and follow the drawn token if it is a child."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.rules.base import Coupling, Siblings


class Membership:
    """Ignore how the children were drawn: the outcome is drawn from the target alone.

        p(u) = a P(u),   p(x) = a P(x) for every other token,   p(REJ) = 1 - a

    A token that is drawn twice (`iid`) belongs to its first node. Exact for any tree whatever, a pruned one included,
    since nothing depends on how it was drawn; optimal where all children are fixed. This is naive sampling, the
    "target-only" acceptance of EAGLE-2 and EAGLE-3 (Li et al., arXiv 2406.16858, 2503.01840). Cost: one pass over the
    vocabulary per node.
    """

    draft_law = "fixed"

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Any tree."""
        return True

    def couple(self, siblings: Siblings) -> Coupling:
        """Probabilities of the children in the order drawn, of the residual and of `REJ`."""
        tokens = siblings.tokens
        earlier = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool, device=tokens.device).tril(-1)
        repeated = ((tokens[:, :, None] == tokens[:, None, :]) & earlier).any(-1)
        children = (siblings.scale[:, None] * siblings.target.gather(1, tokens)).masked_fill_(repeated, 0.0)
        return Coupling(children, self.residual(siblings).sum(-1), 1 - siblings.scale)

    def residual(self, siblings: Siblings) -> Tensor:
        """`a P` without the children."""
        return (siblings.target * siblings.scale[:, None]).scatter_(1, siblings.tokens, 0.0)
