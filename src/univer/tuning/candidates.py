"""Trees that may suit a machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from univer.drafting.base import Draft
from univer.drafting.growth import TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.engine.plan import TreePlan, default_tree
from univer.methods import Method
from univer.tuning.costs import Costs
from univer.tuning.forecast import Forecast
from univer.tuning.planner import Plan

# Planned trees, of those that the programme rates best, that are measured.
PLANNED = 4
# Thresholds of growing trees, as multiples of what a node costs in tokens.
PRICES = (0.5, 1.0, 2.0)
CHEAPEST, DEAREST = 1e-3, 0.3
# Growing trees put their nodes where they pay, so single ones may be larger than the best static one.
ROOM = 2


@dataclass
class Candidate:
    """One way to draft.

    Attributes:
        tree: text that `--tree` takes.
        source: where it comes from: `planned`, the name of a policy, `default`, or `plain` for drafting nothing.
        policy: how its trees grow.
        taus: by prompt, expected tokens of every round measured.
        nodes: drafted nodes of every tree.
        widths: nodes read by the draft, level by level, of every tree.
        factor: seconds of its real rounds over what the costs say, 1 until it is measured.
    """

    tree: str
    source: str
    policy: TreePolicy
    taus: list[list[float]] = field(default_factory=list)
    nodes: list[list[int]] = field(default_factory=list)
    widths: list[list[tuple[int, ...]]] = field(default_factory=list)
    factor: float = 1.0

    def forecast(self, costs: Costs, prompts: Sequence[int]) -> Forecast:
        """What to expect.

        Args:
            costs: seconds of every part of a round.
            prompts: tokens of the prompts measured.
        """
        rounds = [
            self.factor * _mean([costs.round_seconds(n, w) for n, w in zip(nodes, widths, strict=True)])
            for nodes, widths in zip(self.nodes, self.widths, strict=True)
        ]
        return Forecast(
            tuple(prompts[: len(rounds)]), tuple(map(_mean, self.taus)), tuple(rounds), drafting=self.source != "plain"
        )

    @property
    def mean_nodes(self) -> float:
        """Mean number of drafted nodes."""
        return _mean([count for own in self.nodes for count in own])


def plain_candidate(texts: int) -> Candidate:
    """Plain decoding, of which nothing need be measured on contexts.

    Args:
        texts: number of prompts.
    """
    return Candidate("[-1]", "plain", parse_tree("[-1]"), [[1.0]] * texts, [[0]] * texts, [[()]] * texts)


def tree_text(parents: Sequence[int]) -> str:
    """The text that `--tree` takes for a parent list.

    Example:
        >>> tree_text([-1, 0, 0]), tree_text([-1, 0, 1])
        ('[-1,0,0]', 'chain-2')
    """
    if list(parents) == list(range(-1, len(parents) - 1)):
        return f"chain-{len(parents) - 1}"
    return json.dumps(list(parents), separators=(",", ":"))


def list_candidates(
    plans: Sequence[tuple[Plan, float]],
    costs: Costs,
    draft: Draft,
    method: Method,
    order: str | None,
    max_nodes: int,
    *,
    greedy: bool,
) -> list[Candidate]:
    """Candidates that the method takes.

    Args:
        plans: planned trees with their tokens per second, the best first, at least one.
        costs: seconds of every part of a round.
        draft: the draft.
        method: the verification method.
        order: sibling order, or None for the method's own.
        max_nodes: largest tree.
        greedy: whether the temperature is 0.
    """
    texts = {tree_text(plan.parents): "planned" for plan, _ in plans[:PLANNED]}
    default = default_tree(draft, method, "fixed" if greedy else method.draft_law).name
    if parse_tree(default).max_nodes <= max_nodes:
        texts.setdefault(default, "default")
    if method.draft_law != "chain" and not draft.fixed_only:
        for tree in growing_texts(*plans[0], costs, max_nodes):
            texts.setdefault(tree, tree.partition(":")[0])
    found = []
    for tree, source in texts.items():
        policy = parse_tree(tree)
        try:
            TreePlan(policy, draft, method, order, greedy=greedy)
        except ValueError:
            # A rule or a sibling order that does not take trees of this kind.
            continue
        found.append(Candidate(tree, source, policy))
    return found


def growing_texts(plan: Plan, speed: float, costs: Costs, max_nodes: int) -> list[str]:
    """Growing trees about as large as the best planned one.

    At `s` tokens per second a node that makes the round longer by `c` seconds pays if it adds `s c` tokens, and a level
    that costs `d` seconds if it adds `s d`: those are the thresholds of the policies.

    Args:
        plan: the best planned tree.
        speed: its tokens per second.
        costs: seconds of every part of a round.
        max_nodes: largest tree.
    """
    depth = len(plan.widths)
    size = min(max_nodes, plan.nodes + 2)
    most = min(max_nodes, max(ROOM * plan.nodes, 8))
    longer = costs.round_seconds(most + 1, plan.widths) - costs.round_seconds(plan.nodes, plan.widths)
    price = speed * longer / (most + 1 - plan.nodes)
    prices = [min(DEAREST, max(CHEAPEST, multiple * price)) for multiple in PRICES]
    level = min(1.0, speed * costs.levels(2))
    return [
        *(f"grow:nodes={most},depth={depth},threshold={price:.2g}" for price in prices),
        f"grow:nodes={most},depth={depth + 1},threshold={prices[1]:.2g}",
        *(f"eagle2:nodes={nodes},depth={depth},top_k={min(10, nodes)}" for nodes in sorted({size, most})),
        f"opt:nodes={most},depth={depth + 2},cost={level:.2g}",
    ]


def with_mean(candidate: Candidate) -> Candidate | None:
    """The same growing trees, held to their mean size by each request's own counts; None for other trees.

    Args:
        candidate: a candidate that was measured.
    """
    if candidate.source != "grow":
        return None
    tree = f"{candidate.tree},mean={max(1.0, candidate.mean_nodes):.3g}"
    return Candidate(tree, candidate.source, parse_tree(tree))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
