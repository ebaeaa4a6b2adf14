"""Which trees the rounds of a request are to draft."""

from __future__ import annotations

from contextlib import suppress

import torch

from univer.drafting.base import Draft
from univer.drafting.combined import CombinedDraft
from univer.drafting.growth import TreePolicy
from univer.drafting.growth.parse import TreeSpec, parse_tree
from univer.drafting.shapes import Shape
from univer.methods import Method
from univer.runtime.attention import AttentionPattern
from univer.topology import FIXED, ROOT, SAMPLED, Topology
from univer.tree import Forest

# The tree where neither the request nor the draft names one.
DEFAULT_TREE = "2x5"


def suggested_tree(draft: Draft | None) -> str:
    """The tree that a draft suggests for requests that name none, as text; `DEFAULT_TREE` if it suggests none."""
    return (draft.suggested_tree if draft is not None else None) or DEFAULT_TREE


def default_tree(draft: Draft | None, method: Method, law: str) -> TreePolicy:
    """The tree of a request that names none.

    Args:
        draft: the draft, which may suggest a tree; it is taken where the method takes such trees.
        method: the verification method.
        law: sampling scheme of the trees.

    Returns:
        `chain-5` for methods that verify chains; for others the suggested tree, else `DEFAULT_TREE`.
    """
    if method.draft_law == "chain":
        return parse_tree("chain-5")
    policy = parse_tree(suggested_tree(draft))
    with suppress(ValueError):
        method.check(slots_of(policy.widest(law)), method.order)
        return policy
    return parse_tree(DEFAULT_TREE)


class TreePlan:
    """How a request's trees grow.

    Args:
        tree: what the caller asked for; None for what `default_tree` says.
        draft: the draft, or None for plain decoding, where the tree is the root alone.
        method: the verification method.
        order: sibling order, or None for the method's own.
        greedy: whether the temperature is 0, where all children are fixed and every method decides alike.

    Attributes:
        law: draft law of the trees.
        policy: how they grow.
        grower: the request's own growth.

    Raises:
        ValueError: the method does not take trees of this kind from this draft, or not in this order.
    """

    def __init__(
        self, tree: TreeSpec | None, draft: Draft | None, method: Method, order: str | None, *, greedy: bool
    ) -> None:
        fixed_only = greedy or (draft is not None and draft.fixed_only)
        self.law = "fixed" if fixed_only else method.draft_law
        if draft is None:
            tree = [-1]
        self.policy = default_tree(draft, method, self.law) if tree is None else parse_tree(tree)
        fits = greedy or method.rule.fits("fixed", 1, 0)
        if draft is not None and draft.fixed_only and self.drafts and not fits:
            raise ValueError(
                f"the method {method.name!r} needs a tree drawn by the law {method.draft_law!r}, and the draft "
                f"{draft.name} proposes fixed tokens only: choose another draft, such as first=8, or a method with "
                "fixed children, such as univer"
            )
        self._widest = self.policy.widest(self.law)
        judged = self._widest.clipped(0) if greedy else self._widest
        method.check(slots_of(judged), method.order if order is None else order)
        if isinstance(draft, CombinedDraft) and self.drafts and not any(self._widest.fixed):
            raise ValueError(
                f"the guesses of the draft {draft.name} are fixed children, and {method.name} with the tree "
                f"{self.policy.name} draws every child from the draft's law: use a method with fixed children, such as "
                "univer, and a tree with several children per node, or a draft without guesses"
            )
        self.grower = self.policy.start(self.law, greedy=greedy)

    @property
    def forest(self) -> Forest:
        """The widest tree, for checks that look at slots only."""
        return slots_of(self._widest)

    @property
    def branching(self) -> bool:
        """Whether some level may hold more than one node."""
        return len(self._widest.parents) > self._widest.depth + 1

    @property
    def drafts(self) -> bool:
        """Whether there is anything to draft."""
        return self.policy.max_nodes > 0

    def check_attention(self, pattern: AttentionPattern) -> None:
        """Refuse a target that cannot read trees of this kind.

        Raises:
            ValueError: the tree branches and the attention back end takes no mask.
        """
        if self.branching and not pattern.honours_masks:
            raise ValueError(
                f"the target's attention back end {pattern.backend!r} only knows causal masks and cannot read a "
                "branching tree: load it with attn_implementation='sdpa' or 'eager', or use tree='chain-5'"
            )


def slots_of(shape: Shape) -> Forest:
    """A tree of this shape whose slots are all filled, for checks that look at slots only."""
    slots = [ROOT] * len(shape.parents)
    for node, children in enumerate(shape.children):
        for rank, child in enumerate(children):
            slots[child] = FIXED if rank < shape.fixed[node] else SAMPLED
    return Forest(Topology(shape.parents, slots), torch.zeros(len(slots), dtype=torch.long), {}, shape.law)
