"""Which tree every round of a request is to draft."""

from __future__ import annotations

import torch

from univer.drafting.base import Draft
from univer.drafting.shapes import Shape, parse_shape
from univer.engine.attention import AttentionPattern
from univer.engine.options import TreeSpec
from univer.methods import Method
from univer.topology import FIXED, ROOT, SAMPLED, Topology
from univer.tree import Forest


class TreePlan:
    """The shape of a request's trees, and its upper parts for rounds near the length limit.

    Args:
        tree: what the caller asked for; None for `chain-5` with chain methods and `2x5` with others.
        draft: the draft, or None for plain decoding, where the tree is the root alone.
        method: the verification method.
        order: sibling order, or None for the method's own.
        greedy: whether the temperature is 0, where all children are fixed and every method decides alike.

    Raises:
        ValueError: the method does not take trees of this shape from this draft, or not in this order.
    """

    def __init__(
        self, tree: TreeSpec | None, draft: Draft | None, method: Method, order: str | None, *, greedy: bool
    ) -> None:
        fixed_only = greedy or (draft is not None and draft.fixed_only)
        law = "fixed" if fixed_only else method.draft_law
        if tree is None:
            tree = "chain-5" if method.draft_law == "chain" else "2x5"
        self.shape = parse_shape([-1] if draft is None else tree, law)
        self._clipped = {self.shape.depth: self.shape}
        judged = self.at_depth(0) if greedy else self.shape
        method.check(_forest(judged), method.order if order is None else order)

    @property
    def forest(self) -> Forest:
        """A tree with all slots filled, for checks that look at slots only."""
        return _forest(self.shape)

    @property
    def branching(self) -> bool:
        """Whether some level may hold more than one node."""
        return len(self.shape.parents) > self.shape.depth + 1

    @property
    def drafts(self) -> bool:
        """Whether there is anything to draft."""
        return len(self.shape.parents) > 1

    def at_depth(self, depth: int) -> Shape:
        """The shape down to at most `depth` levels of children."""
        depth = min(depth, self.shape.depth)
        if depth not in self._clipped:
            self._clipped[depth] = self.shape.clipped(depth)
        return self._clipped[depth]

    def check_attention(self, pattern: AttentionPattern) -> None:
        """Refuse a target that cannot read trees of this shape.

        Raises:
            ValueError: the tree branches and the attention back end takes no mask.
        """
        if self.branching and not pattern.honours_masks:
            raise ValueError(
                f"the target's attention back end {pattern.backend!r} only knows causal masks and cannot read a "
                "branching tree: load it with attn_implementation='sdpa' or 'eager', or use tree='chain-5'"
            )


def _forest(shape: Shape) -> Forest:
    """A tree of this shape whose slots are all filled, for checks that look at slots only."""
    slots = [ROOT] * len(shape.parents)
    for node, children in enumerate(shape.children):
        for rank, child in enumerate(children):
            slots[child] = FIXED if rank < shape.fixed[node] else SAMPLED
    return Forest(Topology(shape.parents, slots), torch.zeros(len(slots), dtype=torch.long), {}, shape.law)
