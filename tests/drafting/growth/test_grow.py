"""Growing trees with sampled children: what they look like, what they keep to, and what they learn."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Grower, Guess, draft_tree
from univer.drafting.growth.adaptive import AdaptiveGrower
from univer.drafting.growth.grow import Grow
from univer.tree import DraftTree

V = 40
Law = Callable[[Sequence[int]], Tensor]


def model(seed: int, sharpness: float = 12.0) -> Law:
    """A draft whose distribution depends on the whole path, with a few zeros."""

    def law(path: Sequence[int]) -> Tensor:
        rng = np.random.default_rng([seed, *path])
        row = rng.random(V) ** sharpness * (rng.random(V) > 0.1)
        return torch.from_numpy(row / row.sum())

    return law


def grown(grower: Grower, law: Law, depth: int = 99, seed: int = 0, guesses: Sequence[Guess] = ()) -> DraftTree:
    def rows(tree: TreeBuilder, nodes: Sequence[int]) -> Tensor:
        paths: list[list[int]] = [[]]
        for node in range(1, len(tree)):
            paths.append([*paths[tree.parents[node]], tree.tokens[node]])
        return torch.stack([law(paths[node]) for node in nodes])

    def guess(tree: TreeBuilder, nodes: Sequence[int]) -> list[Sequence[Guess]]:
        return [guesses for _ in nodes]

    generator = torch.Generator().manual_seed(seed)
    return draft_tree(7, grower.begin(depth), rows, generator, torch.device("cpu"), guess).tree


def start(policy: Grow, law: str) -> AdaptiveGrower[Any]:
    grower = policy.start(law, greedy=False)
    assert isinstance(grower, AdaptiveGrower)
    return grower


@pytest.mark.parametrize("law", ["greedy", "mixed", "swor", "chain"])
def test_trees_keep_to_law_budget_depth_and_width(law: str) -> None:
    policy = Grow(max_nodes=20, max_depth=4, top_k=5, threshold=0.001)
    deepest, sampled, sizes = 0, 0, set()
    for seed in range(12):
        tree = grown(start(policy, law), model(seed), seed=seed)
        slots, children = tree.slots, tree.children
        counts = [[slots[child] for child in below].count("sampled") for below in children]
        assert tree.law == law
        assert len(tree) - 1 <= 20
        assert max(len(below) for below in children) <= 5
        assert max(counts) <= {"greedy": 1, "chain": 1, "mixed": 2, "swor": 5}[law]
        assert law not in ("swor", "chain") or "fixed" not in slots
        assert tree.planned
        deepest, sampled = max(deepest, *tree.depths), max(sampled, *counts)
        sizes.add(len(tree))
    assert deepest == 4
    assert sampled == {"greedy": 1, "chain": 1, "mixed": 2, "swor": 5}[law] or (law == "swor" and sampled > 1)
    assert max(sizes) > 15 or law == "chain"


def test_a_sure_draft_gives_a_thin_deep_tree_and_a_doubtful_one_a_wide_one() -> None:
    policy = Grow(max_nodes=30, max_depth=6)
    sure, doubtful = (grown(start(policy, "mixed"), model(0, sharpness)) for sharpness in (200.0, 3.0))
    assert max(sure.depths) == 6
    assert np.mean(doubtful.depths) < np.mean(sure.depths)
    assert len(sure.children[0]) < len(doubtful.children[0])


def test_branches_compete_for_the_budget() -> None:
    """A node gets fewer children where its sibling has better uses for them."""

    def children_of_token_0(other: list[float]) -> int:
        rows = {(): [0.5, 0.5, 0, 0], (0,): [0.4, 0.3, 0.2, 0.1], (1,): other}
        policy = Grow(max_nodes=6, max_depth=2, threshold=0.001, foresight=0, top_k=4)
        tree = grown(start(policy, "greedy"), lambda path: torch.tensor(rows[tuple(path)], dtype=torch.float64))
        return next(len(tree.children[node]) for node in tree.children[0] if int(tree.tokens[node]) == 0)

    assert children_of_token_0([0.4, 0.3, 0.2, 0.1]) < children_of_token_0([1.0, 0.0, 0.0, 0.0])


def test_the_tokens_drawn_decide_what_is_expanded() -> None:
    """Among many draws the sampled child is expanded for its likelier tokens and not for its unlikelier ones."""
    row = torch.tensor([0.4, 0.2, 0.2, 0.1, *[0.1 / 36] * 36], dtype=torch.float64)
    expanded: dict[bool, set[float]] = {True: set(), False: set()}
    for seed in range(60):
        tree = grown(start(Grow(max_depth=2, threshold=0.4), "chain"), lambda path: row, seed=seed)
        expanded[len(tree) > 2].add(float(row[int(tree.tokens[1])]))
    assert min(expanded[True]) > max(expanded[False])


def test_guesses_take_fixed_slots() -> None:
    row = torch.full((V,), 1 / V, dtype=torch.float64)
    tree = grown(start(Grow(max_depth=1), "greedy"), lambda path: row, guesses=[Guess(33, 0.9), Guess(5, 0.2)])
    assert tree.tokens[1:3].tolist() == [33, 5]
    assert tree.slots[1:3] == ["fixed", "fixed"]


def test_no_levels_no_nodes() -> None:
    assert len(grown(start(Grow(), "greedy"), model(0), depth=0)) == 1
    assert max(grown(start(Grow(), "greedy"), model(0), depth=1).depths) == 1


def test_verdicts_change_the_trees_of_their_own_request_only() -> None:
    policy = Grow(max_depth=3, threshold=0.1, prior=2.0)
    law = model(3, 8.0)
    grower, other = start(policy, "greedy"), start(policy, "greedy")
    first = grown(grower, law)
    for _ in range(10):
        tree = grown(grower, law)
        grower.settle(tree, [])
    assert len(grown(grower, law)) < len(first)
    assert grown(other, law).tokens.tolist() == first.tokens.tolist()
    stubborn = start(Grow(max_depth=3, threshold=0.1, prior=0.0), "greedy")
    for _ in range(10):
        stubborn.settle(grown(stubborn, law), [])
    assert grown(stubborn, law).tokens.tolist() == first.tokens.tolist()


def test_a_tree_of_somebody_else_is_not_learned_from() -> None:
    grower = start(Grow(prior=1.0), "greedy")
    law = model(1)
    first = grown(grower, law)
    grower.settle(DraftTree([7], [-1], ["root"], None, "greedy"), [])
    assert grown(grower, law).tokens.tolist() == first.tokens.tolist()


@pytest.mark.parametrize("law", ["greedy", "fixed"])
def test_the_mean_budget_is_met(law: str) -> None:
    grower = Grow(mean_nodes=20, prior=0).start(law, greedy=False)
    sizes = []
    for seed in range(50):
        tree = grown(grower, model(seed, 10.0), seed=seed)
        grower.settle(tree, [])
        sizes.append(len(tree) - 1)
    assert np.mean(sizes[10:]) == pytest.approx(20, rel=0.1)


def test_a_lower_threshold_gives_a_larger_tree() -> None:
    sizes = [len(grown(start(Grow(threshold=t), "greedy"), model(2))) for t in (0.2, 0.05, 0.015)]
    assert all(before < after for before, after in pairwise(sizes))
