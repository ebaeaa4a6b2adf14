"""Probability that a round continues to a child, by depth, number of siblings and rank, for the method in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from univer.couplings.base import siblings_of
from univer.drafting.shapes import Shape, from_parents, split_slots
from univer.drafting.slots import NodeSlots, draw_sampled
from univer.laws import positive, top_tokens
from univer.methods import Method
from univer.topology import FIXED, ROOT, SAMPLED, Floats, Topology
from univer.tree import DraftTree, Forest, index, rows_of
from univer.verdict import end_distribution

# Pseudo-counts that draw the figures of one depth towards the mean of all depths.
PRIOR = 4.0
# Assumed acceptance of the first, second and third child of a node, to choose which nodes a probing tree expands.
SHARES = (0.6, 0.15, 0.1)


@dataclass
class AcceptanceCounts:
    r"""Sums from which the acceptance probabilities by position are computed.

    For a drafted tree with target distributions at its nodes, the exact outcome distribution gives the probability
    `t(v)` that the round keeps node `v`. For every other number of children `m` at `v`, new children are drawn, and the
    rule is evaluated at the prefix scale `a_v`: if `v` is kept, child `j` is kept with probability `p(u_j) / a_v`. So

        p_d(m, j) = sum_v t(v) p(u_j) / a_v  /  sum_v t(v)        over nodes v of depth d.

    On average over the draws this is exact for one-step rules, except that the effect of `m` on the prefix scales
    further down is neglected. Only the drafting is random, the verdict is not.

    Args:
        method: the verification method.
        law: sampling scheme of the trees; with `fixed` nothing is random and the children of the tree itself count.
        depth: number of depths to distinguish; deeper nodes count as the last.
        width: largest number of children.

    Attributes:
        reached: weight of the nodes, `[depth, width]`.
        kept: weight of their children by rank, `[depth, width, width]`; the second axis is the number of children.
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
        """Return the shape to draft for `add`.

        With sampled children few are enough, because the rule is evaluated for every other number of them.
        """
        width = self.width if self.law == "fixed" else min(3, self.width)
        return probing_shape(self.law, width, 12 if self.law == "fixed" else 24, self.depth)

    def add(self, tree: DraftTree, targets: Tensor, expanded: Sequence[int], generator: torch.Generator) -> None:
        """Count one drafted tree.

        Args:
            tree: the tree.
            targets: target distributions `P_v` of its nodes, `[N, V]`.
            expanded: ids of the nodes that the draft expanded.
            generator: source of the draws, on the CPU.

        Raises:
            ValueError: the tree does not fit the method.
        """
        method = self.method
        kept = kept_probabilities(tree, end_distribution(tree, targets, method))
        inner = np.array([node for node in expanded if kept[node] > 0], dtype=np.int64)
        if not len(inner):
            return
        depths = np.minimum(tree.topology.depths[inner], self.depth - 1)
        weights = kept[inner]
        np.add.at(self.reached, depths, weights[:, None])
        drawn = np.isin(inner, tree.topology.parents[tree.topology.slots == SAMPLED])
        for node, depth in zip(inner[~drawn], depths[~drawn], strict=True):
            for rank, child in enumerate(tree.children[node][: self.width]):
                # Among fixed children, the acceptance of one does not depend on the others.
                self.kept[depth, rank:, rank] += kept[child]
        if not drawn.any():
            return
        nodes, depths, weights = inner[drawn], depths[drawn], weights[drawn]
        scale = method.coupling.allocate(tree, targets, method.rule, method.order).scale[index(nodes, targets.device)]
        target_rows = rows_of(targets, nodes, targets.device)
        draft_rows = rows_of(tree.draft_laws, nodes, targets.device).to(target_rows)
        for width in range(1, self.width + 1):
            chances = child_chances(method, self.law, width, target_rows, draft_rows, scale, generator)
            np.add.at(self.kept[:, width - 1, :width], depths, weights[:, None] * chances)

    def table(self) -> list[list[list[float]]]:
        """Return `p_d(m, j)` as `[depth][m - 1][j]`; depths with few nodes are drawn towards the mean of all depths."""
        if not self.reached[0].any():
            return []
        pooled = self.kept.sum(0) / self.reached.sum(0)[:, None]
        chances = (self.kept + PRIOR * pooled) / (self.reached + PRIOR)[:, :, None]
        return [[chances[d, m, : m + 1].tolist() for m in range(self.width)] for d in range(self.depth)]


def kept_probabilities(tree: DraftTree, ends: Tensor) -> Floats:
    """Return the probability that each node is kept.

    Args:
        tree: the tree.
        ends: probability that the kept path ends at each node, `[N]`.

    Returns:
        `[N]`, float64; 1 at the root.
    """
    kept = ends.double().cpu().numpy().copy()
    for node in range(len(tree) - 1, 0, -1):
        kept[tree.topology.parents[node]] += kept[node]
    return kept


def child_chances(
    method: Method,
    law: str,
    width: int,
    targets: Tensor,
    drafts: Tensor,
    scale: Tensor,
    generator: torch.Generator,
) -> Floats:
    """Draw children of kept nodes and return the probability that the round continues to each of them.

    Args:
        method: the verification method, which gives the rule.
        law: sampling scheme.
        width: number of children; fewer are drawn if no probability is left.
        targets: target distributions `P_v`, `[n, V]`.
        drafts: draft distributions `Q_v`, `[n, V]`.
        scale: prefix scales `a_v`, `[n]`.
        generator: source of the draws, on the CPU.

    Returns:
        Probabilities by rank, `[n, width]`.
    """
    count = len(targets)
    fixed, sampled = split_slots(width, law)
    best: list[list[int]] = [[] for _ in range(count)]
    if fixed:
        ranked, probabilities = top_tokens(drafts, min(fixed, drafts.shape[1]))
        pairs = zip(ranked.tolist(), probabilities.tolist(), strict=True)
        best = [[token for token, chance in zip(*pair, strict=True) if chance > 0] for pair in pairs]
    decisions = [NodeSlots(tuple(tokens), sampled) for tokens in best]
    uniforms = torch.rand(count * sampled, generator=generator, dtype=torch.float64).to(drafts.device)
    drawn = draw_sampled(decisions, drafts, law, uniforms)
    slots, parents, tokens_of = [ROOT] * count, [-1] * count, [0] * count
    ranks: list[tuple[int, int]] = []
    for node, (top, random) in enumerate(zip(best, drawn, strict=True)):
        for rank, token in enumerate([*top, *random]):
            slots.append(FIXED if rank < len(top) else SAMPLED)
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
        # Not clamped: a single draw may exceed 1, the mean over draws does not.
        shares = coupling.children / positive(scale[rows])[:, None]
        chances[group.nodes, : shares.shape[1]] = shares.double().cpu().numpy()
    return chances


def probing_shape(law: str, width: int, expanded: int, depth: int) -> Shape:
    """Make a shape whose nodes are where rounds usually go.

    Args:
        law: sampling scheme.
        width: number of children of every inner node.
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
