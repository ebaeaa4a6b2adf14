"""A drafted tree that grows node by node, within the growth rule."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch import Tensor

from univer.drafting.columns import EVERY_TOKEN, Columns
from univer.drafting.slots import NodeSlots, draw_sampled
from univer.tree import DraftTree


class TreeBuilder:
    """A growing tree: every node is expanded at most once, and its slots are decided and drawn at that one moment.

    This is the growth rule: which nodes are expanded, and with how many slots, may depend on everything drafted so far,
    but no slot is added to a node later. At the end a fixed child may be dropped as long as no sampled node is below it
    or below one of its siblings. Within these limits every exact method stays lossless.

    Args:
        root_token: the last committed token.
        law: sampling scheme of the children.
        columns: which token each column of the draft distributions stands for; by default column `x` is token `x`.

    Attributes:
        tokens: token of every node; node 0 is the root.
        parents: parent of every node, -1 for the root.
        slots: `"root"`, `"fixed"` or `"sampled"` for every node.
        depths: depth of every node, 0 for the root.
        ranks: for every node, the number of its earlier siblings with the same kind of slot.
        rows: draft distribution `Q_v`, `[D]`, of every node with a sampled child.
        kept: after `finish`, the ids of the nodes of the finished tree, in its order.
    """

    def __init__(self, root_token: int, law: str, columns: Columns = EVERY_TOKEN) -> None:
        self.law = law
        self.columns = columns
        self.tokens = [int(root_token)]
        self.parents = [-1]
        self.slots = ["root"]
        self.depths = [0]
        self.ranks = [0]
        self.rows: dict[int, Tensor] = {}
        self.kept: list[int] = []
        self._expanded: set[int] = set()

    def __len__(self) -> int:
        return len(self.tokens)

    def path(self, node: int) -> list[int]:
        """Return the tokens from the root's child down to a node; none for the root itself."""
        tokens = []
        while node > 0:
            tokens.append(self.tokens[node])
            node = self.parents[node]
        return tokens[::-1]

    def expand(self, nodes: Sequence[int], decisions: Sequence[NodeSlots], rows: Tensor, uniforms: Tensor) -> list[int]:
        """Draw the children of all nodes of a level together.

        Args:
            nodes: `n` node ids, none of them expanded before.
            decisions: the slots of each node.
            rows: their draft distributions `Q_v`, `[n, D]`; the tree keeps views of them.
            uniforms: `[number of sampled slots]`, float64 in [0, 1), node by node.

        Returns:
            Ids of the new nodes, parent by parent; a sampled slot for which no probability is left has none.

        Raises:
            ValueError: a node was expanded before, or would get the same fixed token twice.
        """
        drawn = draw_sampled(decisions, rows, self.law, uniforms, self.columns)
        added: list[int] = []
        for place, (node, decision, sampled) in enumerate(zip(nodes, decisions, drawn, strict=True)):
            if len(set(decision.fixed)) < len(decision.fixed):
                raise ValueError(f"node {node} would get the same fixed token twice: {decision.fixed}")
            slots = [(token, "fixed") for token in decision.fixed] + [(token, "sampled") for token in sampled]
            added += self.add(node, slots, rows[place] if sampled else None)
        return added

    def add(self, node: int, slots: Sequence[tuple[int, str]], row: Tensor | None = None) -> list[int]:
        """Give a node all of its children.

        Args:
            node: node id.
            slots: token and slot (`"fixed"` or `"sampled"`) of every child, in the order drawn.
            row: the node's draft distribution `Q_v`, `[D]`; required if a child is sampled.

        Returns:
            Ids of the new nodes.

        Raises:
            ValueError: the node was expanded before, or the row is missing.
        """
        if node in self._expanded:
            raise ValueError(
                f"node {node} was expanded before: all slots of a node are decided at one moment, none is added later"
            )
        self._expanded.add(node)
        if any(kind == "sampled" for _, kind in slots):
            if row is None:
                raise ValueError(f"node {node} has a sampled child: pass its draft distribution as row")
            self.rows[node] = row
        start, counts = len(self.tokens), {"fixed": 0, "sampled": 0}
        for token, kind in slots:
            self.ranks.append(counts[kind])
            counts[kind] += 1
            self.tokens.append(int(token))
            self.parents.append(node)
            self.slots.append(kind)
            self.depths.append(self.depths[node] + 1)
        return list(range(start, len(self.tokens)))

    def finish(self, planned: bool = True, leave_out: Collection[int] = ()) -> DraftTree:
        """Return the finished tree, with its invariants checked.

        Args:
            planned: whether the expansions of each level were decided together, before any token of the next level was
                drawn.
            leave_out: nodes to drop, with everything below them. Only fixed nodes may be dropped, and only if no
                sampled node is below them or below a sibling. Next to a sampled sibling their tokens stay excluded from
                `S_v`.

        Raises:
            ValueError: one of these nodes must not be dropped.
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
        """Check that no dropped node has a sibling with a sampled node below it.

        The sampled token may have decided the drop, and the drop changes the scale at which the sibling is tested.
        """
        sampled_below = [False] * len(self)
        for node in range(len(self) - 1, 0, -1):
            if self.slots[node] == "sampled" or sampled_below[node]:
                sampled_below[self.parents[node]] = True
        beside = {self.parents[node]: node for node in dropped}
        for sibling, parent in enumerate(self.parents):
            if parent in beside and sampled_below[sibling]:
                raise ValueError(
                    f"node {beside[parent]} may not be dropped: a node below its sibling {sibling} is sampled"
                )
