"""Recursive rejection sampling of children drawn with replacement."""

from __future__ import annotations

from univer.rules.recursion import SequentialRejection


class RecursiveRejection(SequentialRejection):
    """Test independent draws from one distribution in turn, each against the residual of the one before.

    With `T_1` the augmented target and `u_1..u_m` independent draws from `Q`: if no earlier child was the outcome,
    `u_j` is with probability `min(1, T_j(u_j) / Q(u_j))`, and otherwise `T_{j+1} = norm([T_j - Q]+)`. If none is, the
    outcome is drawn from `T_{m+1}`, `REJ` included. A duplicate gets probability 0 by itself, because `T_{j+1}` is 0
    where `Q` was above `T_j`.

    Exact at every scale. Stepwise it is SpecInfer's multi-step speculative sampling (Miao et al., arXiv 2305.09781,
    algorithm 2). Cost: `m` passes over the vocabulary per node.
    """

    draft_law = "iid"
    replacement = True

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Independent draws only; a single draw counts as one under every scheme."""
        return fixed == 0 and (law == "iid" or sampled == 1)
