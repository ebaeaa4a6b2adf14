"""K-SEQ: sequential tests of independent draws at one threshold."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.laws import positive, ratio
from univer.rules.base import Coupling, Siblings

BISECTIONS = {torch.float32: 26, torch.float64: 55}  # halvings of [1, K] down to the last bit of the dtype


class KSeq:
    """Test `K` independent draws in turn against the same scaled target.

    `gamma` in [1, K] solves `1 - (1 - beta)^K = gamma beta` with `beta = sum_x min(T(x) / gamma, Q(x))`, `T` the
    augmented target. Children are tested in the order drawn, each accepted with probability `min(1, T(u) / (gamma
    Q(u)))`; if all fail the outcome follows

        [T(x) - min(T(x) / gamma, Q(x)) (1 - (1 - beta)^K) / beta]+

    normalised, `REJ` included. It may name a child's token, which is then emitted and not followed. Any `gamma` at or
    above the root keeps the bracket non-negative, so the upper end of the bisection is exact.

    Exact at every scale for a number of children set before the first is drawn. Stepwise it is SpecTr (Sun et al.,
    arXiv 2310.15141, algorithm 2, theorem 2). Cost: about 30 passes over the vocabulary per node in float32.
    """

    draft_law = "iid"

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Independent draws only; a single draw counts as one under every scheme."""
        return fixed == 0 and (law == "iid" or sampled == 1)

    def couple(self, siblings: Siblings) -> Coupling:
        """Probabilities of the children in the order drawn, of the residual and of `REJ`."""
        gamma, beta = self._threshold(siblings)
        token, scale = siblings.tokens, siblings.scale[:, None]
        accept = ratio(
            scale * siblings.target.gather(1, token), gamma[:, None] * siblings.sampling_distribution().gather(1, token)
        )
        failed = torch.cumprod(1 - accept, -1)
        before = torch.cat([torch.ones_like(failed[:, :1]), failed[:, :-1]], 1)
        rest, rejected = self._remainder(siblings, gamma, beta).sum(-1), 1 - siblings.scale
        # Where nothing remains the acceptance is 1 and a child has been kept.
        share = failed[:, -1] / positive(rest + rejected)
        return Coupling(accept * before, rest * share, rejected * share)

    def residual(self, siblings: Siblings) -> Tensor:
        """`[T - min(T / gamma, Q) (1 - (1 - beta)^K) / beta]+` on tokens."""
        return self._remainder(siblings, *self._threshold(siblings))

    def expected_acceptance(self, siblings: Siblings) -> Tensor:
        """`1 - (1 - beta)^K`, exact."""
        _, beta = self._threshold(siblings)
        return beta * _factor(beta, siblings.sampled)

    def _remainder(self, siblings: Siblings, gamma: Tensor, beta: Tensor) -> Tensor:
        target = siblings.target * siblings.scale[:, None]
        covered = torch.minimum(target / gamma[:, None], siblings.sampling_distribution())
        return target.sub_(covered.mul_(_factor(beta, siblings.sampled)[:, None])).clamp_(min=0)

    def _threshold(self, siblings: Siblings) -> tuple[Tensor, Tensor]:
        """`gamma` at the upper end of the bisection, and its `beta`, both `[n]`."""
        count, draft = siblings.sampled, siblings.sampling_distribution()
        target = siblings.target * siblings.scale[:, None]

        def coverage(gamma: Tensor) -> Tensor:
            return torch.minimum(target / gamma[:, None], draft).sum(-1).clamp_(max=1)

        low = torch.ones_like(siblings.scale)
        high = torch.full_like(low, count)
        for _ in range(BISECTIONS[target.dtype] if count > 1 else 0):
            middle = (low + high) / 2
            # Divided by beta: (1 - (1 - beta)^K) / beta is a plain sum and has no 0 / 0.
            enough = _factor(coverage(middle), count) <= middle
            low, high = torch.where(enough, low, middle), torch.where(enough, middle, high)
        return high, coverage(high)


def _factor(beta: Tensor, count: int) -> Tensor:
    """`(1 - (1 - beta)^K) / beta = sum_{j < K} (1 - beta)^j`, which is K at `beta = 0`."""
    total = torch.ones_like(beta)
    for _ in range(count - 1):
        total = total * (1 - beta) + 1
    return total
