"""Recursive rejection sampling of children drawn without replacement."""

from __future__ import annotations

from univer.rules.base import without_replacement
from univer.rules.recursion import SequentialRejection


class RecursiveRejectionWithoutReplacement(SequentialRejection):
    """Test children drawn without replacement in turn, each against the distribution it was really drawn from.

    `S_1 = Q` and `S_{j+1}` is `S_j` without `u_j`, renormalised. If no earlier child was the outcome, `u_j` is with
    probability `min(1, T_j(u_j) / S_j(u_j))`, and otherwise `T_{j+1} = norm([T_j - S_j]+)`. If none is, the outcome is
    drawn from `T_{m+1}`, `REJ` included.

    Exact at every scale. Stepwise it is RRSw (Jeon et al., arXiv 2402.14160; Chen et al., Sequoia, arXiv 2402.12374,
    algorithm 2); lifted it is Traversal Verification (Weng et al., arXiv 2505.12398, algorithm 2). Not optimal for two
    and more children. Cost: `m` passes over the vocabulary per node.
    """

    draft_law = "swor"
    replacement = False

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Sampled children without replacement, no fixed ones."""
        return fixed == 0 and without_replacement(law, fixed, sampled)
