"""Chances that a round goes on to a child, by depth, by number of siblings and by rank, for the rule in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from univer.couplings.base import siblings_of
from univer.drafting.shapes import Shape, from_parents, split_slots
from univer.drafting.slots import NodeSlots, draw_sampled
from univer.laws import positive, top_tokens
from univer.methods import Method
from univer.topology import FIXED, ROOT, SAMPLED, Topology
from univer.tree import DraftTree, Forest, index, rows_of
from univer.verdict import end_law

Floats = NDArray[np.float64]

# Pseudo-counts by which a depth leans on the mean of all depths.
LEAN = 4.0
# Share of a node's acceptance that its first, second, third child gets, to choose what a probing tree expands.
SHARES = (0.6, 0.15, 0.1)


@dataclass
class AcceptanceCounts:
    r"""Sums from which the chances are told.

    On a drafted tree with the laws of the target at its nodes, the exact law of the outcome says with which probability
    `t(v)` the round keeps each node `v`. What it would do with other numbers of children at `v` follows from the rule
    itself: for every width `m`, children are drawn anew by the draft law, the rule answers at the node's own prefix
    scale `a_v`, and child `j` is kept with probability `p(u_j) / a_v` once `v` is. So

        p_d(m, j) = sum_v t(v) p(u_j) / a_v  /  sum_v t(v)        over nodes v of depth d,

    which is exact for one-step rules on average over the draws; that the prefix scale further down depends on the width
    chosen here is left out. No uniforms are thrown for the verdict: only the drafting is random.

    Args:
        method: the verification method.
        law: draft law of the trees; with `fixed` nothing is drawn at random, and the tree's own children are read off.
        depth: depths told apart; deeper nodes count for the last.
        width: largest number of children.

    Attributes:
        reached: `[depth, width]` weight of nodes.
        kept: `[depth, width, width]` weight of their children by rank; the second axis is the number of children.
    """

    method: Method
    law: str
    depth: int
    width: int
    reached: Floats = field(init=False)
    kept: Floats = field(init=False)

    def __post_init__(self) -> None:
        if self.law == "chain":
            self.width = 1
        self.reached = np.zeros((self.depth, self.width))
        self.kept = np.zeros((self.depth, self.width, self.width))

    def probe(self) -> Shape:
        """The tree to draft for `add`: few children where the rule answers for other widths, all where it cannot."""
        width = self.width if self.law == "fixed" else min(3, self.width)
        return probing_shape(self.law, width, 12 if self.law == "fixed" else 24, self.depth)

    def add(self, tree: DraftTree, laws: Tensor, asked: Sequence[int], generator: torch.Generator) -> None:
        """Count one drafted tree.

        Args:
            tree: the tree.
            laws: `P_v` of its nodes, `[N, V]`.
            asked: nodes that the draft was asked to expand.
            generator: source of the draws, on the CPU.

        Raises:
            ValueError: the tree does not fit the method.
        """
        method = self.method
        through = kept_law(tree, end_law(tree, laws, method))
        inner = np.array([node for node in asked if through[node] > 0], dtype=np.int64)
        if not len(inner):
            return
        depths = np.minimum(tree.topology.depths[inner], self.depth - 1)
        weights = through[inner]
        np.add.at(self.reached, depths, weights[:, None])
        drawn = np.isin(inner, tree.topology.parents[tree.topology.slots == SAMPLED])
        for node, depth in zip(inner[~drawn], depths[~drawn], strict=True):
            for rank, child in enumerate(tree.children[node][: self.width]):
                # With fixed children only, a child is kept as often whatever stands beside it.
                self.kept[depth, rank:, rank] += through[child]
        if not drawn.any():
            return
        nodes, depths, weights = inner[drawn], depths[drawn], weights[drawn]
        scale = method.coupling.allocate(tree, laws, method.rule, method.order).scale[index(nodes, laws.device)]
        targets = rows_of(laws, nodes, laws.device)
        drafts = rows_of(tree.draft_laws, nodes, laws.device).to(targets)
        for width in range(1, self.width + 1):
            chances = child_chances(method, self.law, width, targets, drafts, scale, generator)
            np.add.at(self.kept[:, width - 1, :width], depths, weights[:, None] * chances)

    def table(self) -> list[list[list[float]]]:
        """`p_d(m, j)` as `[depth][m - 1][j]`; where little was seen at a depth it leans on the mean of all."""
        if not self.reached[0].any():
            return []
        pooled = self.kept.sum(0) / self.reached.sum(0)[:, None]
        chances = (self.kept + LEAN * pooled) / (self.reached + LEAN)[:, :, None]
        return [[chances[d, m, : m + 1].tolist() for m in range(self.width)] for d in range(self.depth)]


def kept_law(tree: DraftTree, ends: Tensor) -> Floats:
    """Probability that each node is kept, from the law of the node at which the path ends.

    Args:
        tree: the tree.
        ends: `[N]`.

    Returns:
        `[N]`, float64; 1 at the root.
    """
    through = ends.double().cpu().numpy().copy()
    for node in range(len(tree) - 1, 0, -1):
        through[tree.topology.parents[node]] += through[node]
    return through


def child_chances(
    method: Method,
    law: str,
    width: int,
    targets: Tensor,
    drafts: Tensor,
    scale: Tensor,
    generator: torch.Generator,
) -> Floats:
    """Chance that a kept node's round goes on to each of `width` children, drawn for the purpose.

    Args:
        method: gives the rule.
        law: draft law.
        width: number of children; fewer are drawn where no mass is left.
        targets: `P_v`, `[n, V]`.
        drafts: `Q_v`, `[n, V]`.
        scale: prefix scales `a_v`, `[n]`.
        generator: source of the draws, on the CPU.

    Returns:
        `[n, width]`, by rank.
    """
    count = len(targets)
    fixed, sampled = split_slots(width, law)
    best: list[list[int]] = [[] for _ in range(count)]
    if fixed:
        ranked, probabilities = top_tokens(drafts, min(fixed, drafts.shape[1]))
        pairs = zip(ranked.tolist(), probabilities.tolist(), strict=True)
        best = [[token for token, chance in zip(*pair, strict=True) if chance > 0] for pair in pairs]
    decisions = [NodeSlots(tuple(own), sampled) for own in best]
    uniforms = torch.rand(count * sampled, generator=generator, dtype=torch.float64).to(drafts.device)
    drawn = draw_sampled(decisions, drafts, law, uniforms)
    slots, parents, tokens_of = [ROOT] * count, [-1] * count, [0] * count
    ranks: list[tuple[int, int]] = []
    for node, (own, random) in enumerate(zip(best, drawn, strict=True)):
        for rank, token in enumerate([*own, *random]):
            slots.append(FIXED if rank < len(own) else SAMPLED)
            parents.append(node)
            tokens_of.append(token)
            ranks.append((node, rank))
    forest = Forest(
        Topology(parents, slots), torch.tensor(tokens_of, device=drafts.device), dict(enumerate(drafts)), law
    )
    chances = np.zeros((count, width))
    for group in forest.topology.groups(np.unique([node for node, _ in ranks])):
        rows = index(group.nodes, targets.device)
        coupling = method.rule.couple(siblings_of(forest, targets, group, scale[rows]))
        # Not clamped: one draw's share may exceed 1, their mean does not.
        shares = coupling.children / positive(scale[rows])[:, None]
        chances[group.nodes, : shares.shape[1]] = shares.double().cpu().numpy()
    return chances


def probing_shape(law: str, width: int, expanded: int, depth: int) -> Shape:
    """A tree that spends its nodes where rounds usually go.

    Args:
        law: draft law.
        width: children of every inner node.
        expanded: number of inner nodes.
        depth: largest depth.

    Example:
        >>> probing_shape("greedy", 2, 3, 3).parents
        (-1, 0, 0, 1, 1, 3, 3)
    """
    parents, worth, depths = [-1], {0: 1.0}, [0]
    for _ in range(expanded):
        if not worth:
            break
        node = max(worth, key=lambda place: (worth[place], -place))
        weight = worth.pop(node)
        for rank in range(width):
            parents.append(node)
            depths.append(depths[node] + 1)
            if depths[-1] < depth and rank < len(SHARES):
                worth[len(parents) - 1] = weight * SHARES[rank]
    return from_parents(parents, law, "probe")
