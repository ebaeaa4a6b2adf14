"""Trees that may suit a machine, and what each of them brings on the same contexts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from univer.bench.contexts import SampledText, drafted_trees
from univer.drafting.base import Draft
from univer.drafting.growth import TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.engine import Sampling
from univer.engine.plan import TreePlan
from univer.methods import Method
from univer.tuning.acceptance import AcceptanceCounts
from univer.tuning.costs import Costs
from univer.tuning.forecast import Forecast
from univer.tuning.planner import Plan
from univer.tuning.watch import Turns
from univer.verdict import end_law

# Planned trees, of those that the programme rates best, that are measured.
PLANNED = 4
# Budgets of growing trees, as shares of the best planned tree's size: they put the nodes where they pay.
BUDGETS = (0.5, 0.75, 1.0, 1.5)
SMALLEST_BUDGET = 4


@dataclass
class Candidate:
    """One way to draft.

    Attributes:
        tree: text that `--tree` takes.
        source: where it comes from: `planned`, the name of a policy, or `default`.
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
        return Forecast(tuple(prompts[: len(rounds)]), tuple(map(_mean, self.taus)), tuple(rounds))

    @property
    def mean_nodes(self) -> float:
        """Mean number of drafted nodes."""
        return _mean([count for own in self.nodes for count in own])


def tree_text(parents: Sequence[int]) -> str:
    """The text that `--tree` takes for a parent list.

    Example:
        >>> tree_text([-1, 0, 0]), tree_text([-1, 0, 1])
        ('[-1,0,0]', 'chain-2')
    """
    if list(parents) == list(range(-1, len(parents) - 1)):
        return f"chain-{len(parents) - 1}"
    return json.dumps(list(parents), separators=(",", ":"))


def parse_text(tree: str) -> TreePolicy:
    """The policy of a text that `--tree` takes.

    Args:
        tree: a name, a policy with parameters, or a JSON list.

    Raises:
        ValueError: it is no tree.
    """
    if not tree.startswith("["):
        return parse_tree(tree)
    try:
        entries = json.loads(tree)
    except json.JSONDecodeError as error:
        raise ValueError(f"the tree {tree!r} is not a JSON list: {error}") from error
    return parse_tree(entries)


def list_candidates(
    plans: Sequence[Plan],
    draft: Draft,
    method: Method,
    order: str | None,
    max_nodes: int,
    max_depth: int,
    *,
    greedy: bool,
) -> list[Candidate]:
    """Candidates that the method takes.

    Args:
        plans: planned trees, the best first.
        draft: the draft.
        method: the verification method.
        order: sibling order, or None for the method's own.
        max_nodes: largest tree.
        max_depth: deepest tree.
        greedy: whether the temperature is 0.
    """
    texts = {tree_text(plan.parents): "planned" for plan in plans[:PLANNED]}
    for tree in ("chain-5",) if method.draft_law == "chain" else ("2x5",):
        if parse_tree(tree).max_nodes <= max_nodes:
            texts.setdefault(tree, "default")
    if method.draft_law != "chain" and not draft.fixed_only:
        best = plans[0].nodes if plans else max_nodes
        depth = max([len(plan.widths) for plan in plans[:PLANNED]], default=max_depth)
        for tree, source in _growing(best, depth, max_nodes, max_depth):
            texts.setdefault(tree, source)
    found = []
    for tree, source in texts.items():
        policy = parse_text(tree)
        try:
            TreePlan(policy, draft, method, order, greedy=greedy)
        except ValueError:
            # A rule or a sibling order that does not take trees of this kind.
            continue
        found.append(Candidate(tree, source, policy))
    return found


def _growing(nodes: int, depth: int, max_nodes: int, max_depth: int) -> Iterator[tuple[str, str]]:
    """Texts of growing policies around a size."""
    budgets = sorted({min(max_nodes, max(SMALLEST_BUDGET, round(share * nodes))) for share in BUDGETS})
    depths = sorted({min(max_depth, depth), min(max_depth, depth + 1)})
    for budget in budgets:
        yield f"grow:nodes={max_nodes},mean={budget},depth={depths[-1]}", "grow"
        for levels in depths:
            yield f"eagle2:nodes={budget},depth={levels},top_k={min(10, budget)}", "eagle2"


def measure(
    target: Any,
    draft: Draft,
    texts: Sequence[SampledText],
    candidates: Sequence[Candidate],
    judge: Method,
    law: str,
    *,
    order: str | None,
    sampling: Sampling,
    draft_sampling: Sampling,
    seed: int,
    trees: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Measure candidates on the same contexts, by the exact law of the outcome, and note it in them.

    Args:
        target: a causal language model.
        draft: the draft.
        texts: texts of the target's own with the places to draft at.
        candidates: the candidates.
        judge: the method that decides.
        law: draft law of the method.
        order: sibling order, or None for the method's own.
        sampling: settings of the target's laws.
        draft_sampling: settings of the draft's laws.
        seed: of all draws.
        trees: trees per place and candidate.
        progress: called with the number of trees done and that of all.
    """
    watched = [(Turns((candidate.policy,)), law) for candidate in candidates]
    total, done = sum(len(text.places) for text in texts) * len(candidates) * trees, 0
    for number, text in enumerate(texts):
        found: list[list[tuple[float, int, tuple[int, ...]]]] = [[] for _ in candidates]
        places = drafted_trees(
            target,
            draft,
            text,
            watched,
            sampling=sampling,
            draft_sampling=draft_sampling,
            trees=trees,
            seed=seed + number,
        )
        for turn, context in enumerate(places):
            place = turn % len(candidates)
            depths = torch.from_numpy(context.tree.topology.depths)
            ends = end_law(context.tree, context.laws, judge, order)
            seen = watched[place][0].log[-1]
            found[place].append((1 + float(ends @ depths.to(ends)), seen.nodes, seen.widths))
            done += 1
            progress(done, total)
        for candidate, own in zip(candidates, found, strict=True):
            taus, nodes, widths = zip(*own, strict=True)
            candidate.taus.append(list(taus))
            candidate.nodes.append(list(nodes))
            candidate.widths.append(list(widths))


def count_acceptance(
    target: Any,
    draft: Draft,
    texts: Sequence[SampledText],
    counts: AcceptanceCounts,
    *,
    sampling: Sampling,
    draft_sampling: Sampling,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Count acceptance on the texts; see `AcceptanceCounts`.

    Args:
        target: a causal language model.
        draft: the draft.
        texts: texts of the target's own with the places to draft at.
        counts: counts to add to.
        sampling: settings of the target's laws.
        draft_sampling: settings of the draft's laws.
        seed: of all draws.
        progress: called with the number of trees done and that of all.
    """
    watched = Turns((parse_tree(counts.probe()),))
    generator = torch.Generator().manual_seed(seed)
    total, done = sum(len(text.places) for text in texts), 0
    for number, text in enumerate(texts):
        for context in drafted_trees(
            target,
            draft,
            text,
            [(watched, counts.law)],
            sampling=sampling,
            draft_sampling=draft_sampling,
            trees=1,
            seed=seed + number,
        ):
            counts.add(context.tree, context.laws, watched.log[-1].asked, generator)
            done += 1
            progress(done, total)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
