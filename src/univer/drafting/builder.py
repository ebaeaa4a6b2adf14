"""Grow a drafted tree node by node within the growth rule."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from univer.drafting.shapes import Shape
from univer.drafting.slots import draw_children
from univer.tree import DraftTree


class TreeBuilder:
    """A tree that grows: every node is expanded at most once, its slots decided and drawn at that one moment.

    This is the growth rule: which nodes are expanded, and with how many slots, may depend on everything drafted so far,
    but no slot is added to a node later and none is removed. Within it every exact method stays lossless.

    Args:
        root_token: the last committed token.
        law: draft law of the children.
        shape: a static plan that `frontier` follows; without one the caller chooses what to expand.
    """

    def __init__(self, root_token: int, law: str, shape: Shape | None = None) -> None:
        self.law = law
        self.tokens = [int(root_token)]
        self.parents = [-1]
        self.slots = ["root"]
        self.rows: dict[int, Tensor] = {}
        self._shape = shape
        self._plan = {0: 0}
        self._expanded: set[int] = set()

    def frontier(self) -> list[int]:
        """Nodes that the static shape expands next: all that exist, have planned children and are not expanded."""
        if self._shape is None:
            raise ValueError("this builder has no static shape: choose yourself which nodes to expand")
        plan = self._shape
        return [
            node
            for node in range(len(self.tokens))
            if node not in self._expanded and plan.fixed[self._plan[node]] + plan.sampled[self._plan[node]] > 0
        ]

    def uniforms_needed(self, nodes: Sequence[int]) -> int:
        """How many uniforms `expand_planned` takes for the given nodes."""
        assert self._shape is not None
        return sum(self._shape.sampled[self._plan[node]] for node in nodes)

    def expand_planned(
        self, nodes: Sequence[int], rows: Tensor, uniforms: Tensor, scores: Tensor | None = None
    ) -> list[int]:
        """Expand nodes with the slots that the static shape plans for them.

        Args:
            nodes: node ids, each not expanded before.
            rows: their draft laws `Q_v`, `[n, V]`; views of it are kept as the tree's draft laws.
            uniforms: `[uniforms_needed(nodes)]`, float64, taken node by node.
            scores: `[n, V]`, ranks the fixed children.

        Returns:
            Ids of the new nodes, in order of their parents.
        """
        assert self._shape is not None
        children = self._shape.children
        groups: dict[tuple[int, int], list[int]] = {}
        start, first_uniform = 0, []
        for position, node in enumerate(nodes):
            planned = self._plan[node]
            groups.setdefault((self._shape.fixed[planned], self._shape.sampled[planned]), []).append(position)
            first_uniform.append(start)
            start += self._shape.sampled[planned]
        drawn: dict[int, list[tuple[int, str, int]]] = {}
        for (fixed, sampled), positions in groups.items():
            take = [[first_uniform[position] + slot for slot in range(sampled)] for position in positions]
            coins = uniforms[torch.tensor(take, dtype=torch.long).reshape(len(positions), sampled)]
            whole = len(positions) == len(nodes)
            some_rows = rows if whole else rows[positions]
            some_scores = scores if whole or scores is None else scores[positions]
            tokens, created = draw_children(some_rows, fixed, sampled, self.law, coins, some_scores)
            for position, row, mask in zip(positions, tokens.tolist(), created.tolist(), strict=True):
                kinds = ["fixed"] * (len(row) - sampled) + ["sampled"] * sampled
                drawn[position] = [
                    (token, kind, rank) for rank, (token, kind) in enumerate(zip(row, kinds, strict=True)) if mask[rank]
                ]
        new: list[int] = []
        for position, node in enumerate(nodes):
            slots = drawn[position]
            added = self.add(node, [(token, kind) for token, kind, _ in slots], rows[position])
            for child, (_, _, rank) in zip(added, slots, strict=True):
                self._plan[child] = children[self._plan[node]][rank]
            new += added
        return new

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
        return list(range(start, len(self.tokens)))

    def finish(self, planned: bool = True) -> DraftTree:
        """The checked tree.

        Args:
            planned: whether the expansions of each level were decided together before any token of the next was drawn.
        """
        return DraftTree(self.tokens, self.parents, self.slots, self.rows, self.law, planned=planned)
