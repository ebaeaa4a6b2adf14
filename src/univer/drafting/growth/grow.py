"""Trees that grow where nodes are likely to be accepted, with fixed and sampled children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.adaptive import AdaptiveGrower, Calibration, Threshold
from univer.drafting.growth.base import Grower, Guess, NodeSlots, check_number, check_size, policy_name
from univer.drafting.growth.budget import Budget, best_by_count, concave_steps
from univer.drafting.growth.confidence import ConfidenceGrowth
from univer.drafting.growth.estimates import Estimates, candidates
from univer.drafting.shapes import Shape, with_slots
from univer.laws import entropy
from univer.topology import Floats
from univer.tree import DraftTree

# Sampling schemes that the policy supports. `iid` is not one: its duplicates are never worth a slot.
LAWS = ("greedy", "mixed", "swor", "chain", "fixed")


@dataclass(frozen=True)
class Grow:
    r"""The growth policy `grow`: every level gets the fixed and sampled slots with the highest expected acceptance.

    Each node has a weight `w`, the estimated probability that the kept path goes through it (root: 1). Let `H` be the
    entropy of its draft distribution, `kappa(H)` the expected agreement with the target, `F` its fixed children and
    `m = 1 - Q(F)`. The expected acceptance of its children is

        w (sum_{x in F} e(x) + A_r(m))

    where `e(x)` is the estimated probability that the target continues with `x`, and `A_r(m)` that one of `r` sampled
    children is accepted; see `univer.drafting.growth.estimates`. For each number of slots, a node takes the best split
    into fixed and sampled ones. The best slots of the whole level are kept, as long as each adds at least `threshold`
    and the tree has at most `max_nodes` nodes. The weight of a child is what its slot adds; for a sampled child it is
    estimated again once its token is known. Children with a weight of at least `threshold` are expanded. The request's
    own verdicts correct the estimates.

    The slots of a node are decided and drawn at one moment, and all slots of a level are decided before any of them is
    drawn. So every method stays exact, and the sibling order `gain` is allowed. If all children are fixed (sampling
    scheme `fixed`, e.g. at temperature 0), the tree is the one of highest path confidence with at most `max_nodes`
    nodes of confidence at least `threshold`.

    Attributes:
        max_nodes: largest number of nodes, root excluded.
        max_depth: largest number of levels.
        threshold: expected acceptance from which a slot is worth its place in the target pass.
        top_k: largest number of children of a node.
        sampled: largest number of sampled children of a node; `greedy` and `chain` never have more than one.
        mean_nodes: mean number of nodes per tree that the threshold adapts to, over the request's own trees; None for
            a constant threshold.
        prior: weight of the estimates against the request's own verdicts, in accepted tokens; 0 for no learning.
        foresight: how much of the node budget is kept for later levels, see `Budget`.
        score_temperature: under the scheme `fixed`, confidences are those of `Q^(1 / score_temperature)`.

    Raises:
        ValueError: a parameter out of range.
    """

    max_nodes: int = 62
    max_depth: int = 7
    threshold: float = 0.015
    top_k: int = 10
    sampled: int = 2
    mean_nodes: float | None = None
    prior: float = 8.0
    foresight: float = 0.5
    score_temperature: float = 1.0

    def __post_init__(self) -> None:
        check_size("grow", self.max_nodes, self.max_depth, self.top_k)
        check_number("grow", "threshold", self.threshold, 1e-6, 1)
        check_number("grow", "sampled", self.sampled, 1, self.top_k, whole=True)
        if self.mean_nodes is not None:
            check_number("grow", "mean", self.mean_nodes, 1, self.max_nodes)
        check_number("grow", "prior", self.prior, 0, 1e6)
        check_number("grow", "foresight", self.foresight, 0, 10)
        check_number("grow", "temperature", self.score_temperature, 0.05, 20)

    @property
    def name(self) -> str:
        """Text form, e.g. `"grow:nodes=48"`."""
        return policy_name("grow", self)

    def most_sampled(self, law: str) -> int:
        """Largest number of sampled children of a node under a sampling scheme."""
        return {"fixed": 0, "greedy": 1, "chain": 1, "swor": self.top_k}.get(law, self.sampled)

    def widest(self, law: str) -> Shape:
        """Return a tree that has nodes with the most fixed and with the most sampled children."""
        if law not in LAWS:
            raise ValueError(
                f"the tree policy 'grow' does not support the sampling scheme {law!r}, which this method needs: "
                "name a shape such as '2x5'"
            )
        width, sampled = min(self.top_k, self.max_nodes), min(self.most_sampled(law), self.max_nodes)
        if law in ("swor", "chain"):
            return with_slots(self.name, law, self.max_depth, [(0, sampled), (0, 1)])
        mixed = [(width - sampled, sampled)] if width > sampled else []
        return with_slots(self.name, law, self.max_depth, [*mixed, (width, 0), (0, sampled) if sampled else (1, 0)])

    def start(self, law: str, *, greedy: bool) -> Grower:
        """Start a request."""
        self.widest(law)
        threshold = Threshold(self.threshold, self.mean_nodes)
        if law == "fixed":
            fixed_tree = partial(ConfidenceGrowth, self.top_k, self.score_temperature)
            return AdaptiveGrower(fixed_tree, self.max_nodes, self.max_depth, self.prior, threshold)
        tree = partial(GrowingTree, self, law)
        return AdaptiveGrower(tree, self.max_nodes, self.max_depth, self.prior, threshold)


class Decided(NamedTuple):
    """What is known about a node whose slots were decided.

    Attributes:
        place: its index in the level.
        estimates: `e(x)` of its fixed children, before correction.
        mass: `m`, what the fixed children leave of the draft distribution.
        shares: what each sampled child adds, relative to the first one.
    """

    place: int
    estimates: Floats
    mass: float
    shares: Floats


class GrowingTree:
    """One tree of the policy `grow` with sampled children.

    Args:
        policy: the policy.
        law: sampling scheme.
        max_nodes: largest number of nodes, root excluded.
        depth: largest number of levels.
        threshold: smallest expected acceptance of a slot.
        calibration: corrects the estimates.

    Attributes:
        tree: the finished tree; None until then.
        weights: for each node drafted, the estimated probability that the kept path goes through it.
        estimates: for each node, its estimated acceptance given its parent's, before correction.
    """

    def __init__(
        self, policy: Grow, law: str, max_nodes: int, depth: int, threshold: float, calibration: Calibration
    ) -> None:
        self.law = law
        self.depth = depth
        self.tree: DraftTree | None = None
        self.weights = [1.0]
        self.estimates = [1.0]
        self._policy = policy
        self._max_nodes = max_nodes
        self._threshold = threshold
        self._calibration = calibration
        self._fixed = 0 if law in ("swor", "chain") else policy.top_k
        self._sampled = policy.most_sampled(law)
        self._level: dict[int, Decided] = {}
        self._rows = torch.empty(0)
        self._level_estimates = Estimates(np.zeros(0))

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        """Decide the slots with the highest expected acceptance over the whole level."""
        ranked = candidates(rows, self._fixed, guesses, tree.columns)
        self._rows, self._level_estimates = rows, Estimates(entropy(rows).double().cpu().numpy())
        chances, estimates = np.zeros((2, len(nodes), self._fixed))
        for place, best in enumerate(ranked):
            chances[place, : len(best)] = [entry.chance for entry in best]
            estimates[place, : len(best)] = self._level_estimates.fixed(place, best)
        masses = np.maximum(1 - _running_sums(chances), 0.0)
        fixed_values = _running_sums(self._calibration.corrected("fixed", estimates))
        known = np.array([len(best) for best in ranked])
        fixed_values[np.arange(self._fixed + 1) > known[:, None]] = -np.inf
        first = self._calibration.corrected("sampled", self._level_estimates.sampled(masses))
        shares = self._level_estimates.shares(self._sampled)
        values = fixed_values[:, :, None] + first[:, :, None] * _running_sums(shares)[:, None, :]

        weights = np.array([self.weights[node] for node in nodes])
        worth, split = best_by_count(values, self._policy.top_k)
        steps = [step for place, row in enumerate(weights[:, None] * worth) for step in concave_steps(place, row)]
        foresight = self._policy.foresight if tree.depths[nodes[0]] + 1 < self.depth else 0.0
        budget = Budget(self._max_nodes - (len(tree) - 1), self._threshold, foresight)
        decisions = []
        for place, (node, count) in enumerate(zip(nodes, budget.choose(steps, len(nodes)), strict=True)):
            sampled = int(split[place, count])
            fixed = count - sampled
            self._level[node] = Decided(place, estimates[place, :fixed], float(masses[place, fixed]), shares[place])
            decisions.append(NodeSlots(tuple(entry.token for entry in ranked[place][:fixed]), sampled))
        return decisions

    def frontier(self, tree: TreeBuilder, new: Sequence[int]) -> list[int]:
        """Return the new nodes with a weight of at least the threshold."""
        if tree.depths[new[0] if new else 0] > 0:
            self._weigh(tree, new)
        if not new or tree.depths[new[0]] >= self.depth or len(tree) > self._max_nodes:
            return []
        return [node for node in new if self.weights[node] >= self._threshold]

    def _weigh(self, tree: TreeBuilder, new: Sequence[int]) -> None:
        """Estimate the weights of new nodes, now that the tokens of sampled ones are known."""
        sampled = [node for node in new if tree.slots[node] == "sampled"]
        entries = [(self._level[tree.parents[node]].place, tree.tokens[node]) for node in sampled]
        chance = dict(zip(sampled, tree.columns.chances(self._rows, entries), strict=True))
        for node in new:
            parent, slot, rank = tree.parents[node], tree.slots[node], tree.ranks[node]
            decided = self._level[parent]
            if slot == "fixed":
                estimate = float(decided.estimates[rank])
            else:
                first = self._level_estimates.drawn(decided.place, decided.mass, chance[node])
                estimate = float(decided.shares[rank]) * first
            self.estimates.append(estimate)
            corrected = float(self._calibration.corrected(slot, np.array(estimate)))
            self.weights.append(self.weights[parent] * corrected)

    def finish(self, tree: TreeBuilder) -> DraftTree:
        """Return the tree; no node is left out."""
        self.tree = tree.finish()
        return self.tree


def _running_sums(values: Floats) -> Floats:
    """Sums over the first 0, 1, 2, ... columns, `[n, C + 1]`."""
    return np.concatenate([np.zeros((len(values), 1)), values.cumsum(1)], 1)
