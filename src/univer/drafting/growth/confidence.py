"""Trees of fixed children that are grown by path confidence and cut to the best nodes at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.base import Guess, NodeSlots
from univer.drafting.growth.calibration import Calibration
from univer.drafting.growth.candidates import candidates
from univer.drafting.growth.threshold import Threshold
from univer.tree import DraftTree


@dataclass(frozen=True)
class ConfidenceSettings:
    """What the policies of fixed children have in common.

    Attributes:
        max_nodes: most nodes of the finished tree, the root left out.
        width: most children of a node.
        score_temperature: confidences are those of `Q^(1 / score_temperature)`, renormalised.
        beam: most nodes of a level that are expanded; None for all that are among the best `max_nodes`.
        least_gain: the tree ends with the level that adds less than this to the sum of its path confidences.
    """

    max_nodes: int
    width: int
    score_temperature: float = 1.0
    beam: int | None = None
    least_gain: float = 0.0


class ConfidenceGrowth:
    """One such tree.

    A node's path confidence is the product of the draft's probabilities (or of the confidences of other sources) on its
    path. At every level only children that are among the best `max_nodes` of all candidates so far are drafted: what is
    not among them now never will be. Those that better ones displace later are left out at the end, which is lawful
    because no child is sampled.

    Args:
        settings: see there.
        depth: levels of children that the tree may have.
        calibration: corrects the confidences.
        threshold: least path confidence of a node.
    """

    law = "fixed"

    def __init__(self, settings: ConfidenceSettings, depth: int, calibration: Calibration, threshold: float) -> None:
        self.depth = depth
        self.settings = settings
        self._calibration = calibration
        self._threshold = threshold
        # By node: path confidence and what was estimated for its last step; those of slots not drawn yet follow.
        self._paths = [1.0]
        self._steps = [1.0]
        self._gain = 1.0
        self.tree: DraftTree | None = None
        self.estimates: list[float] = []

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        """The best tokens of all nodes together."""
        settings = self.settings
        ranked = candidates(tempered(rows, settings.score_temperature), settings.width, guesses, tree.columns)
        listed = [(place, entry) for place, best in enumerate(ranked) for entry in best]
        steps = self._calibration.corrected("fixed", np.array([entry.confidence for _, entry in listed]))
        found = []
        for (place, entry), step in zip(listed, steps.tolist(), strict=True):
            path = self._paths[nodes[place]] * step
            if path > 0 and path >= self._threshold:
                found.append((path, place, entry))
        # Of equal paths those drafted before stay.
        before = sorted(self._paths[1:], reverse=True)
        found.sort(key=lambda item: -item[0])
        room = _room(before, [path for path, _, _ in found], settings.max_nodes)
        self._gain = sum(path for path, _, _ in found[:room]) - sum(before[settings.max_nodes - room :])
        chosen: list[list[int]] = [[] for _ in nodes]
        order = sorted(found[:room], key=lambda item: item[1])
        for path, place, entry in order:
            chosen[place].append(entry.token)
            self._paths.append(path)
            self._steps.append(entry.confidence)
        return [NodeSlots(tuple(tokens), 0) for tokens in chosen]

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        """The best of the new nodes; none where the last level added too little."""
        if not new or tree.depths[new[0]] >= self.depth or self._gain < self.settings.least_gain:
            return []
        best = sorted(new, key=lambda node: -self._paths[node])[: self.settings.beam]
        return sorted(best)

    def finish(self, tree: TreeBuilder) -> DraftTree:
        """The best nodes; a parent is never worse than its child and stands before it."""
        order = sorted(range(1, len(tree)), key=lambda node: (-self._paths[node], node))
        self.tree = tree.finish(leave_out=order[self.settings.max_nodes :])
        self.estimates = [self._steps[node] for node in tree.kept]
        return self.tree


class ConfidenceGrower:
    """Growth of one request's trees of fixed children.

    Args:
        settings: of every tree.
        max_depth: most levels.
        prior: weight of the draft's own confidences against the request's verdicts; 0 for no learning.
        threshold: least path confidence of a node; none by default.
    """

    def __init__(
        self, settings: ConfidenceSettings, max_depth: int, prior: float = 0.0, threshold: Threshold | None = None
    ) -> None:
        self._settings = settings
        self._max_depth = max_depth
        self._calibration = Calibration(prior)
        self._threshold = threshold or Threshold(0.0, None)
        self._last: ConfidenceGrowth | None = None

    def begin(self, depth: int, nodes: int | None = None) -> ConfidenceGrowth:
        """Start a tree of at most `depth` levels and `nodes` nodes."""
        settings = self._settings
        if nodes is not None and nodes < settings.max_nodes:
            settings = replace(settings, max_nodes=nodes)
        self._last = ConfidenceGrowth(settings, min(depth, self._max_depth), self._calibration, self._threshold.value)
        return self._last

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Compare the confidences with what was accepted."""
        if self._last is not None and self._last.tree is tree:
            self._calibration.count(tree, path, self._last.estimates)
            if self._last.depth == self._max_depth and self._last.settings is self._settings:
                self._threshold.count(len(tree) - 1)


def tempered(rows: Tensor, temperature: float) -> Tensor:
    """`Q^(1 / temperature)`, renormalised.

    Args:
        rows: `[n, V]`.
        temperature: above 0; 1 leaves the rows as they are.

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
    """How many of the new ones are among the best `most` of both, each in falling order; of equal ones the old."""
    taken = 0
    while taken < min(len(new), most) and (taken + len(before) < most or new[taken] > before[most - taken - 1]):
        taken += 1
    return taken
