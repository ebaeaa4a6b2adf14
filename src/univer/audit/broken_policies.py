"""The policy `grow` with its trees changed after they were drawn. Everything here is wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.grow import Grow, GrowingTree
from univer.tree import DraftTree

POLICY = Grow(max_nodes=4, max_depth=2, top_k=2, threshold=0.05, foresight=0)
LAW, VOCABULARY = "greedy", 4


@dataclass
class Changed:
    """A grower whose finished trees are replaced, and which ignores node budgets while it draws.

    Attributes:
        change: makes the tree from what was drafted and the node budget.
    """

    change: Callable[[GrowingTree, TreeBuilder, int | None], DraftTree]

    def begin(self, depth: int, nodes: int | None = None) -> GrowingTree:
        """Start a tree."""
        growth = POLICY.start(LAW, greedy=False).begin(depth)
        assert isinstance(growth, GrowingTree)
        growth.finish = lambda tree: self.change(growth, tree, nodes)  # type: ignore[method-assign]
        return growth

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Nothing to learn."""


def cut_afterwards(growth: GrowingTree, tree: TreeBuilder, nodes: int | None) -> DraftTree:
    """The node budget is applied only when everything is drawn: the nodes of most weight stay."""
    order = sorted(range(1, len(tree)), key=lambda node: (-growth.weights[node], node))
    kept = {0, *order[:nodes]}
    return _tree(tree, [node for node in range(len(tree)) if node in kept and tree.parents[node] in kept | {-1}])


def drop_lightest(growth: GrowingTree, tree: TreeBuilder, nodes: int | None) -> DraftTree:
    """As EAGLE-2 ends: the node of least weight is left out, a sampled one as well."""
    worst = min(range(1, len(tree)), key=lambda node: (growth.weights[node], -node))
    return _tree(tree, [node for node in range(len(tree)) if node != worst and tree.parents[node] != worst])


def add_slot_late(growth: GrowingTree, tree: TreeBuilder, nodes: int | None) -> DraftTree:
    """The root gets one more fixed child if token 0 was drawn below one of its children."""
    if any(tree.depths[node] == 2 and tree.tokens[node] == 0 for node in range(len(tree))):
        taken = [tree.tokens[node] for node in range(len(tree)) if tree.parents[node] == 0]
        tree.tokens.append(next(token for token in range(VOCABULARY) if token not in taken))
        tree.parents.append(0)
        tree.slots.append("fixed")
        tree.depths.append(1)
    return _tree(tree, range(len(tree)))


def _tree(tree: TreeBuilder, nodes: Sequence[int]) -> DraftTree:
    """The tree of some nodes, without the checks of the builder."""
    kept = sorted(nodes, key=lambda node: (tree.depths[node], tree.slots[node] == "sampled"))
    place = {node: number for number, node in enumerate(kept)}
    return DraftTree(
        [tree.tokens[node] for node in kept],
        [place.get(tree.parents[node], -1) for node in kept],
        [tree.slots[node] for node in kept],
        {place[node]: row for node, row in tree.rows.items() if node in place},
        tree.law,
    )


UNLAWFUL_POLICIES = {
    "grow: nodes left out by weight at the end, sampled ones too": drop_lightest,
    "grow: slot added to the root after looking below": add_slot_late,
}
