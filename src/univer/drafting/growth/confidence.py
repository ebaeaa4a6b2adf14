"""Trees of fixed children that grow by path confidence: EAGLE-2, OPT-Tree, and `grow` without sampled children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.adaptive import AdaptiveGrower, Calibration, Threshold
from univer.drafting.growth.base import Guess, NodeSlots, check_number, check_size, policy_name
from univer.drafting.growth.estimates import candidates
from univer.drafting.shapes import Shape, with_slots
from univer.tree import DraftTree


@dataclass(frozen=True)
class _FixedPolicy:
    """What `eagle2` and `opt` have in common; `kind` is the name of the policy in text forms."""

    kind: ClassVar[str]
    max_nodes: int = 62
    max_depth: int = 6
    top_k: int = 10
    score_temperature: float = 1.0

    def __post_init__(self) -> None:
        check_size(self.kind, self.max_nodes, self.max_depth, self.top_k)
        check_number(self.kind, "temperature", self.score_temperature, 0.05, 20)

    @property
    def name(self) -> str:
        """Text form, e.g. `"eagle2:nodes=40"`."""
        return policy_name(self.kind, self)

    def widest(self, law: str) -> Shape:
        """Return a tree of fixed children, whatever the sampling scheme of the method."""
        return with_slots(self.name, "fixed", self.max_depth, [(min(self.top_k, self.max_nodes), 0), (1, 0)])

    def _grower(self, *, beam: int | None = None, least_gain: float = 0.0) -> AdaptiveGrower[ConfidenceGrowth]:
        new_tree = partial(ConfidenceGrowth, self.top_k, self.score_temperature, beam=beam, least_gain=least_gain)
        return AdaptiveGrower(new_tree, self.max_nodes, self.max_depth, prior=0.0, threshold=Threshold(0.0))


@dataclass(frozen=True)
class Eagle2(_FixedPolicy):
    r"""The policy `eagle2`: the best children by path confidence, cut to the best nodes at the end.

    The confidence of a path is `prod_i Q(x_i | x_<i)`. *Expansion*: the root gets its `top_k` likeliest tokens; on each
    level the `top_k` nodes of highest confidence get `top_k` children each, down to `max_depth`. *Reranking*: of all
    nodes drafted, the `max_nodes` of highest confidence stay. All children are fixed (leaving out sampled ones would
    not be lossless), so every rule acts as membership on such a tree.

    Attributes:
        max_nodes: number of nodes that stay, root excluded.
        max_depth: number of levels.
        top_k: number of children per node, and of nodes expanded per level.
        score_temperature: confidences are those of `Q^(1 / score_temperature)`, renormalised.

    Raises:
        ValueError: a parameter is out of range.

    References:
        Li et al., "EAGLE-2", arXiv 2406.16858.
    """

    kind = "eagle2"

    def start(self, law: str, *, greedy: bool) -> AdaptiveGrower[ConfidenceGrowth]:
        """Start a request."""
        return self._grower(beam=self.top_k)


@dataclass(frozen=True)
class OptTree(_FixedPolicy):
    r"""The policy `opt`: the tree of largest expected acceptance, grown as long as a further level pays.

    If the draft distribution were the target's, a tree `T` of fixed children would have the expected accepted length

        E(T) = sum_{v in T} prod_i Q(x_i | x_<i)

    so the best `max_nodes` candidates form the best tree. Every level expands all nodes among them. Drafting stops when
    `E` grows by less than `cost`, the cost of a draft pass in target passes.

    Attributes:
        max_nodes: number of nodes of the tree, root excluded.
        max_depth: largest number of levels.
        top_k: largest number of children per node.
        score_temperature: confidences are those of `Q^(1 / score_temperature)`, renormalised.
        cost: smallest gain in `E` for which a further level is drafted.

    Raises:
        ValueError: a parameter is out of range.

    References:
        Wang et al., "OPT-Tree", arXiv 2406.17276.
    """

    kind = "opt"
    max_depth: int = 10
    cost: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("opt", "cost", self.cost, 0, 1)

    def start(self, law: str, *, greedy: bool) -> AdaptiveGrower[ConfidenceGrowth]:
        """Start a request."""
        return self._grower(least_gain=self.cost)


class ConfidenceGrowth:
    """One tree of fixed children, grown by path confidence and cut to the best nodes at the end.

    The confidence of a node is the product of the draft's probabilities (or other sources' confidences) along its path.
    A child is drafted only if it is among the best `max_nodes` of all candidates so far; one that is not now never will
    be. Nodes that better ones displace later are left out at the end. This keeps every method exact, because no child
    is sampled.

    Args:
        width: largest number of children of a node.
        score_temperature: confidences are those of `Q^(1 / score_temperature)`, renormalised.
        max_nodes: largest number of nodes of the finished tree, root excluded.
        depth: largest number of levels.
        threshold: smallest path confidence of a node.
        calibration: corrects the confidences.
        beam: largest number of nodes expanded per level; None for all that are among the best `max_nodes`.
        least_gain: growth stops after a level that adds less than this to the sum of the path confidences.

    Attributes:
        tree: the finished tree; None until then.
        estimates: for each node of the finished tree, its confidence given its parent, before correction.
    """

    law = "fixed"

    def __init__(
        self,
        width: int,
        score_temperature: float,
        max_nodes: int,
        depth: int,
        threshold: float,
        calibration: Calibration,
        *,
        beam: int | None = None,
        least_gain: float = 0.0,
    ) -> None:
        self.depth = depth
        self._width = width
        self._score_temperature = score_temperature
        self._max_nodes = max_nodes
        self._threshold = threshold
        self._calibration = calibration
        self._beam = beam
        self._least_gain = least_gain
        # For each node, and for slots decided but not drawn yet: path confidence, and confidence of the last step.
        self._paths = [1.0]
        self._steps = [1.0]
        self._gain = 1.0
        self.tree: DraftTree | None = None
        self.estimates: list[float] = []

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        """Give each node those of its tokens that are among the best of the whole tree."""
        ranked = candidates(tempered(rows, self._score_temperature), self._width, guesses, tree.columns)
        listed = [(place, entry) for place, best in enumerate(ranked) for entry in best]
        steps = self._calibration.corrected("fixed", np.array([entry.confidence for _, entry in listed]))
        found = []
        for (place, entry), step in zip(listed, steps.tolist(), strict=True):
            path = self._paths[nodes[place]] * step
            if path > 0 and path >= self._threshold:
                found.append((path, place, entry))
        # In a tie the node drafted earlier stays.
        before = sorted(self._paths[1:], reverse=True)
        found.sort(key=lambda item: -item[0])
        room = _room(before, [path for path, _, _ in found], self._max_nodes)
        self._gain = sum(path for path, _, _ in found[:room]) - sum(before[self._max_nodes - room :])
        chosen: list[list[int]] = [[] for _ in nodes]
        order = sorted(found[:room], key=lambda item: item[1])
        for path, place, entry in order:
            chosen[place].append(entry.token)
            self._paths.append(path)
            self._steps.append(entry.confidence)
        return [NodeSlots(tuple(tokens), 0) for tokens in chosen]

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        """Return the best new nodes; none if the last level added too little."""
        if not new or tree.depths[new[0]] >= self.depth or self._gain < self._least_gain:
            return []
        best = sorted(new, key=lambda node: -self._paths[node])[: self._beam]
        return sorted(best)

    def finish(self, tree: TreeBuilder) -> DraftTree:
        """Return the tree of the best nodes; a parent is never worse than its child, and comes first in a tie."""
        order = sorted(range(1, len(tree)), key=lambda node: (-self._paths[node], node))
        self.tree = tree.finish(leave_out=order[self._max_nodes :])
        self.estimates = [self._steps[node] for node in tree.kept]
        return self.tree


def tempered(rows: Tensor, temperature: float) -> Tensor:
    """Raise distributions to the power `1 / temperature` and renormalise them.

    Args:
        rows: `[n, D]`.
        temperature: above 0; 1 leaves the rows as they are.

    Returns:
        `[n, D]`.

    Example:
        >>> import torch
        >>> tempered(torch.tensor([[0.8, 0.2]]), 0.5)
        tensor([[0.9412, 0.0588]])
    """
    if temperature == 1 or not rows.shape[1]:
        return rows
    # Divided by the largest entry first: powers of small probabilities would underflow.
    powers = (rows / rows.amax(-1, keepdim=True)).pow(1 / temperature)
    return powers / powers.sum(-1, keepdim=True)


def _room(before: Sequence[float], new: Sequence[float], most: int) -> int:
    """Count the new scores among the best `most` of both lists, which fall; in a tie the old score comes first."""
    taken = 0
    while taken < min(len(new), most) and (taken + len(before) < most or new[taken] > before[most - taken - 1]):
        taken += 1
    return taken
