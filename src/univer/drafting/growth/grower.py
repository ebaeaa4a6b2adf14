"""One tree of the policy `grow` with sampled children, and what its request has learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.base import Guess, NodeSlots
from univer.drafting.growth.budget import Budget, concave_steps
from univer.drafting.growth.calibration import Calibration
from univer.drafting.growth.candidates import candidates
from univer.drafting.growth.estimate import Estimates, Floats
from univer.drafting.growth.threshold import Threshold
from univer.laws import entropy
from univer.topology import Ints
from univer.tree import DraftTree

if TYPE_CHECKING:
    from univer.drafting.growth.grow import Grow


class GrowGrower:
    """Growth of one request's trees with sampled children.

    Args:
        policy: the settings.
        law: draft law.
        threshold: the threshold of this request.
    """

    def __init__(self, policy: Grow, law: str, threshold: Threshold) -> None:
        self._policy = policy
        self._law = law
        self._threshold = threshold
        self._calibration = Calibration(policy.prior)
        self._last: GrowingTree | None = None

    def begin(self, depth: int, nodes: int | None = None) -> GrowingTree:
        """Start a tree of at most `depth` levels and `nodes` nodes."""
        policy, depth = self._policy, min(depth, self._policy.max_depth)
        if nodes is not None and nodes < policy.max_nodes:
            policy = replace(policy, max_nodes=nodes, mean_nodes=None)
        self._last = GrowingTree(policy, self._law, depth, self._threshold.value, self._calibration)
        return self._last

    def settle(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Compare the estimates with what was accepted, and the size of the tree with the mean budget."""
        last = self._last
        if last is not None and last.tree is tree:
            self._calibration.count(tree, path, last.estimates)
            if last.depth == self._policy.max_depth and last.policy is self._policy:
                self._threshold.count(len(tree) - 1)


class Decided(NamedTuple):
    """What is known of a node whose children are being drawn.

    Attributes:
        place: its place in the level.
        estimates: `e(x)` of its fixed children, before correction.
        mass: `m`, what the draft's law has left for sampled children.
        shares: what each sampled child adds, in units of what the first one does.
    """

    place: int
    estimates: Floats
    mass: float
    shares: Floats


class GrowingTree:
    """One such tree.

    Args:
        policy: the settings.
        law: draft law.
        depth: levels of children that the tree may have.
        threshold: least expected acceptance of a slot.
        calibration: corrects estimates.
    """

    def __init__(self, policy: Grow, law: str, depth: int, threshold: float, calibration: Calibration) -> None:
        self.law = law
        self.depth = depth
        self.tree: DraftTree | None = None
        self.weights = [1.0]
        self.estimates = [1.0]
        self.policy = policy
        self._threshold = threshold
        self._calibration = calibration
        self._fixed = 0 if law in ("swor", "chain") else policy.top_k
        self._sampled = policy.most_sampled(law)
        self._level: dict[int, Decided] = {}
        self._rows = torch.empty(0)
        self._belief = Estimates(np.zeros(0))

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        """The numbers of fixed and sampled slots that are worth most for the whole level."""
        ranked = candidates(rows, self._fixed, guesses, tree.columns)
        self._rows, self._belief = rows, Estimates(entropy(rows).double().cpu().numpy())
        chances, estimates = np.zeros((2, len(nodes), self._fixed))
        for place, best in enumerate(ranked):
            chances[place, : len(best)] = [entry.chance for entry in best]
            estimates[place, : len(best)] = self._belief.fixed(place, best)
        masses = np.maximum(1 - np.concatenate([np.zeros((len(nodes), 1)), chances.cumsum(1)], 1), 0.0)
        believed = self._calibration.corrected("fixed", estimates)
        fixed_values = np.concatenate([np.zeros((len(nodes), 1)), believed.cumsum(1)], 1)
        known = np.array([len(best) for best in ranked])
        fixed_values[np.arange(self._fixed + 1) > known[:, None]] = -np.inf
        first = self._calibration.corrected("sampled", self._belief.sampled(masses))
        shares = self._belief.shares(self._sampled)
        taken = np.concatenate([np.zeros((len(nodes), 1)), shares.cumsum(1)], 1)
        values = fixed_values[:, :, None] + first[:, :, None] * taken[:, None, :]

        weights = np.array([self.weights[node] for node in nodes])
        worth, split = best_by_count(values, self.policy.top_k)
        steps = [step for place, own in enumerate(weights[:, None] * worth) for step in concave_steps(place, own)]
        foresight = self.policy.foresight if tree.depths[nodes[0]] + 1 < self.depth else 0.0
        budget = Budget(self.policy.max_nodes - (len(tree) - 1), self._threshold, foresight)
        decisions = []
        for place, (node, count) in enumerate(zip(nodes, budget.choose(steps, len(nodes)), strict=True)):
            sampled = int(split[place, count])
            fixed = count - sampled
            self._level[node] = Decided(place, estimates[place, :fixed], float(masses[place, fixed]), shares[place])
            decisions.append(NodeSlots(tuple(entry.token for entry in ranked[place][:fixed]), sampled))
        return decisions

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        """The new nodes of enough weight."""
        if tree.depths[new[0] if new else 0] > 0:
            self._weigh(tree, new)
        if not new or tree.depths[new[0]] >= self.depth or len(tree) > self.policy.max_nodes:
            return []
        return [node for node in new if self.weights[node] >= self._threshold]

    def _weigh(self, tree: TreeBuilder, new: Sequence[int]) -> None:
        """Weights of new nodes: of fixed children as decided, of sampled ones by their tokens."""
        sampled = [node for node in new if tree.slots[node] == "sampled"]
        entries = [(self._level[tree.parents[node]].place, tree.tokens[node]) for node in sampled]
        chance = dict(zip(sampled, tree.columns.chances(self._rows, entries), strict=True))
        seen: dict[tuple[int, str], int] = {}
        for node in new:
            parent, slot = tree.parents[node], tree.slots[node]
            decided, rank = self._level[parent], seen.get((parent, slot), 0)
            seen[parent, slot] = rank + 1
            if slot == "fixed":
                estimate = float(decided.estimates[rank])
            else:
                estimate = float(decided.shares[rank]) * self._belief.drawn(decided.place, decided.mass, chance[node])
            self.estimates.append(estimate)
            believed = float(self._calibration.corrected(slot, np.array(estimate)))
            self.weights.append(self.weights[parent] * believed)

    def finish(self, tree: TreeBuilder) -> DraftTree:
        """The tree, from which nothing is left out."""
        self.tree = tree.finish()
        return self.tree


def best_by_count(values: Floats, most: int) -> tuple[Floats, Ints]:
    """The best split of every number of slots.

    Args:
        values: worth of `n` nodes with `k` fixed and `r` sampled children `[n, K + 1, R + 1]`.
        most: most children.

    Returns:
        Worth of the best split of 0, 1, 2, ... slots `[n, C]`, and how many of them are sampled `[n, C]`.

    Example:
        >>> best_by_count(np.array([[[0.0, 0.6], [0.5, 0.8]]]), 2)
        (array([[0. , 0.6, 0.8]]), array([[0, 1, 1]]))
    """
    nodes, fixed, sampled = values.shape
    options = np.full((sampled, nodes, fixed + sampled - 1), -np.inf)
    for count in range(sampled):
        options[count, :, count : count + fixed] = values[:, :, count]
    options = options[:, :, : most + 1]
    return options.max(0), options.argmax(0)
