"""Candidates: trees that may be fast on this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import fmean

from univer.drafting.base import Draft
from univer.drafting.growth import TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.engine.plan import TreePlan
from univer.methods import Method
from univer.tuning.alternating import TreeRecord
from univer.tuning.costs import Costs
from univer.tuning.forecast import Forecast
from univer.tuning.planner import Plan

# Number of planned trees that are measured, the fastest by the planner's estimate.
PLANNED = 4
# Thresholds of growing trees, as multiples of the cost of a node in tokens, and their limits.
PRICES = (0.5, 1.0, 2.0)
CHEAPEST, DEAREST = 1e-3, 0.3
# Growing trees vary in size, so the largest may exceed the best static tree by this factor.
ROOM = 2


@dataclass
class Candidate:
    """One way to draft.

    Attributes:
        tree: text for the option `--tree`.
        source: its origin: `default` (what `generate` uses if no tree is named), `planned`, the name of a policy, or
            `plain` for no drafting.
        rounds: for each prompt, the expected tokens and the tree of every round measured.
        factor: measured time of its rounds divided by the time that the costs predict; 1 until it is measured.
    """

    tree: str
    source: str
    rounds: list[list[tuple[float, TreeRecord]]] = field(default_factory=list)
    factor: float = 1.0

    def forecast(self, costs: Costs, prompts: Sequence[int]) -> Forecast:
        """Return what to expect of it.

        Args:
            costs: seconds of every part of a round.
            prompts: numbers of tokens of the prompts measured.
        """
        taus = [fmean([tau for tau, _ in rounds]) for rounds in self.rounds]
        seconds = [
            self.factor * fmean([costs.round_seconds(tree.nodes, tree.widths) for _, tree in rounds])
            for rounds in self.rounds
        ]
        return Forecast(tuple(prompts[: len(taus)]), tuple(taus), tuple(seconds), drafting=self.source != "plain")

    @property
    def policy(self) -> TreePolicy:
        """How its trees grow."""
        return parse_tree(self.tree)

    @property
    def mean_nodes(self) -> float:
        """Mean number of drafted nodes."""
        return fmean(tree.nodes for rounds in self.rounds for _, tree in rounds)


def plain_candidate(texts: int) -> Candidate:
    """Return plain decoding as a candidate; it needs no measurement on contexts.

    Args:
        texts: number of prompts.
    """
    return Candidate("[-1]", "plain", [[(1.0, TreeRecord(0, 0, (), ()))]] * texts)


def tree_text(parents: Sequence[int]) -> str:
    """Return the text for the option `--tree` that stands for a parent list.

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
    """List candidates that the method supports.

    The tree that `generate` uses for this draft and method if none is named is always among them, unless it is larger
    than `max_nodes`.

    Args:
        plans: planned trees with their tokens per second, the fastest first, at least one.
        costs: seconds of every part of a round.
        draft: the draft.
        method: the verification method.
        order: sibling order; None for the method's default.
        max_nodes: largest tree, root excluded.
        greedy: whether the temperature is 0.
    """
    default = TreePlan(None, draft, method, order, greedy=greedy).policy
    texts = {default.name: "default"} if default.max_nodes <= max_nodes else {}
    for plan, _ in plans[:PLANNED]:
        texts.setdefault(tree_text(plan.parents), "planned")
    if method.draft_law != "chain" and not draft.fixed_only:
        for tree in growing_texts(*plans[0], costs, max_nodes):
            texts.setdefault(tree, tree.partition(":")[0])
    found = []
    for tree, source in texts.items():
        # The rule or the sibling order may not support trees of this kind.
        with suppress(ValueError):
            TreePlan(tree, draft, method, order, greedy=greedy)
            found.append(Candidate(tree, source))
    return found


def growing_texts(plan: Plan, speed: float, costs: Costs, max_nodes: int) -> list[str]:
    """List growing trees of about the size of the best planned tree.

    At `s` tokens per second, a node that takes `c` seconds pays if it adds `s c` tokens, and a level that takes `d`
    seconds pays if it adds `s d` tokens. These are the thresholds of the policies.

    Args:
        plan: the fastest planned tree.
        speed: its tokens per second.
        costs: seconds of every part of a round.
        max_nodes: largest tree, root excluded.
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
