"""Grow a drafted tree node by node within the growth rule."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch import Tensor

from univer.drafting.columns import EVERY_TOKEN, Columns
from univer.drafting.slots import NodeSlots, draw_sampled
from univer.tree import DraftTree


class TreeBuilder:
    """A tree that grows: every node is expanded at most once, its slots decided and drawn at that one moment.

    This is the growth rule: which nodes are expanded, and with how many slots, may depend on everything drafted so far,
    but no slot is added to a node later. At the end a fixed child may be left out as long as nothing sampled hangs
    below it or below one of its siblings. Within these limits every exact method stays lossless.

    Args:
        root_token: the last committed token.
        law: draft law of the children.
        columns: which tokens the columns of the draft laws stand for; by default all in order.

    Attributes:
        tokens: token of every node; node 0 is the root.
        parents: parent of every node, -1 for the root.
        slots: `"root"`, `"fixed"` or `"sampled"` for every node.
        depths: depth of every node, 0 for the root.
        rows: draft law `Q_v` `[D]` of every node with a sampled child, by these columns.
        kept: after `finish`, the nodes that stand in the finished tree, in its order.
    """

    def __init__(self, root_token: int, law: str, columns: Columns = EVERY_TOKEN) -> None:
        self.law = law
        self.columns = columns
        self.tokens = [int(root_token)]
        self.parents = [-1]
        self.slots = ["root"]
        self.depths = [0]
        self.rows: dict[int, Tensor] = {}
        self.kept: list[int] = []
        self._expanded: set[int] = set()

    def __len__(self) -> int:
        return len(self.tokens)

    def path(self, node: int) -> list[int]:
        """Tokens from the root's child down to a node; none for the root itself."""
        tokens = []
        while node > 0:
            tokens.append(self.tokens[node])
            node = self.parents[node]
        return tokens[::-1]

    def expand(self, nodes: Sequence[int], decisions: Sequence[NodeSlots], rows: Tensor, uniforms: Tensor) -> list[int]:
        """Draw the children of all nodes of a level together.

        Args:
            nodes: `n` node ids, each not expanded before.
            decisions: what each of them gets.
            rows: their draft laws `Q_v`, `[n, D]`; views of it are kept as the tree's draft laws.
            uniforms: float64 in [0, 1), one for each sampled slot, node by node.

        Returns:
            Ids of the new nodes, parent by parent; a sampled slot for which no mass is left has none.

        Raises:
            ValueError: a node was expanded before, or is to get the same fixed token twice.
        """
        drawn = draw_sampled(decisions, rows, self.law, uniforms, self.columns)
        added: list[int] = []
        for place, (node, decision, sampled) in enumerate(zip(nodes, decisions, drawn, strict=True)):
            if len(set(decision.fixed)) < len(decision.fixed):
                raise ValueError(f"node {node} is to get a fixed token twice: {decision.fixed}")
            slots = [(token, "fixed") for token in decision.fixed] + [(token, "sampled") for token in sampled]
            added += self.add(node, slots, rows[place] if sampled else None)
        return added

    def add(self, node: int, slots: Sequence[tuple[int, str]], row: Tensor | None = None) -> list[int]:
        """Give a node its children, all of them, once and for all.

        Args:
            node: node id.
            slots: token and slot (`"fixed"` or `"sampled"`) of every child in the order drawn.
            row: the node's draft law `Q_v`, needed where a child is sampled.

        Returns:
            Ids of the new nodes.

        Raises:
            ValueError: the node was expanded before; slots are decided at one moment.
        """
        if node in self._expanded:
            raise ValueError(
                f"node {node} was expanded before: its slots are decided at one moment, none is added later"
            )
        self._expanded.add(node)
        if any(kind == "sampled" for _, kind in slots):
            if row is None:
                raise ValueError(f"node {node} has a sampled child: its draft law is needed")
            self.rows[node] = row
        start = len(self.tokens)
        for token, kind in slots:
            self.tokens.append(int(token))
            self.parents.append(node)
            self.slots.append(kind)
            self.depths.append(self.depths[node] + 1)
        return list(range(start, len(self.tokens)))

    def finish(self, planned: bool = True, leave_out: Collection[int] = ()) -> DraftTree:
        """The checked tree.

        Args:
            planned: whether the expansions of each level were decided together before any token of the next was drawn.
            leave_out: nodes to drop, with all that hangs below them. Only fixed ones may be dropped, with nothing
                sampled below them or below a sibling, whose scale depends on those tested before it; beside a sampled
                sibling their tokens stay excluded from `S_v`.

        Raises:
            ValueError: a node that must stay is to be dropped.
        """
        dropped = set(leave_out)
        for node, parent in enumerate(self.parents):
            if node in dropped or parent in dropped:
                if self.slots[node] != "fixed":
                    raise ValueError(
                        f"node {node} is {self.slots[node]}: only fixed nodes with nothing sampled below may be dropped"
                    )
                dropped.add(node)
        if dropped:
            self._check_siblings(dropped)
        self.kept = [node for node in range(len(self)) if node not in dropped]
        place = {node: number for number, node in enumerate(self.kept)}
        excluded: dict[int, list[int]] = {}
        for node in sorted(dropped):
            if self.parents[node] in self.rows and self.parents[node] in place:
                excluded.setdefault(place[self.parents[node]], []).append(self.tokens[node])
        return DraftTree(
            [self.tokens[node] for node in self.kept],
            [place.get(self.parents[node], -1) for node in self.kept],
            [self.slots[node] for node in self.kept],
            dict(zip((place[node] for node in self.rows), self.columns.whole(list(self.rows.values())), strict=True)),
            self.law,
            excluded,
            planned=planned,
        )

    def _check_siblings(self, dropped: Collection[int]) -> None:
        """Refuse to drop a node beside one with something sampled below it.

        The drop may have been decided by that token, and it changes the scale at which the sibling is tested.
        """
        sampled_below = [False] * len(self)
        for node in range(len(self) - 1, 0, -1):
            if self.slots[node] == "sampled" or sampled_below[node]:
                sampled_below[self.parents[node]] = True
        beside = {self.parents[node]: node for node in dropped}
        for sibling, parent in enumerate(self.parents):
            if parent in beside and sampled_below[sibling]:
                raise ValueError(
                    f"node {beside[parent]} may not be dropped: something is sampled below its sibling {sibling}"
                )
