"""EAGLE-2, OPT-Tree, and `grow` without sampled children."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import draft_tree
from univer.drafting.growth.confidence import tempered
from univer.drafting.growth.parse import parse_tree
from univer.tree import DraftTree

V = 6


def model(seed: int, sharpness: float = 4.0) -> Callable[[Sequence[int]], Tensor]:
    """A draft whose distribution depends on the whole path."""

    def law(path: Sequence[int]) -> Tensor:
        rng = np.random.default_rng([seed, *path])
        row = rng.random(V) ** sharpness
        return torch.from_numpy(row / row.sum())

    return law


def path_of(tree: TreeBuilder, node: int) -> list[int]:
    path: list[int] = []
    while node > 0:
        path.insert(0, tree.tokens[node])
        node = tree.parents[node]
    return path


def drafted(spec: str, law: Callable[[Sequence[int]], Tensor], depth: int = 99) -> tuple[DraftTree, int]:
    """A tree and the number of levels that were read for it."""
    levels = []

    def rows(tree: TreeBuilder, nodes: Sequence[int]) -> Tensor:
        levels.append(nodes)
        return torch.stack([law(path_of(tree, node)) for node in nodes])

    growth = parse_tree(spec).start("fixed", greedy=True).begin(depth)
    return draft_tree(0, growth, rows, torch.Generator(), torch.device("cpu")).tree, len(levels)


def paths(tree: DraftTree) -> set[tuple[int, ...]]:
    tokens = tree.tokens.tolist()
    return {tuple(tokens[node] for node in tree.topology.path(n)) for n in range(1, len(tree))}


def confidence(path: Sequence[int], law: Callable[[Sequence[int]], Tensor]) -> float:
    return float(np.prod([float(law(path[:step])[token]) for step, token in enumerate(path)]))


def best_paths(law: Callable[[Sequence[int]], Tensor], count: int, depth: int, width: int) -> list[tuple[int, ...]]:
    """By trying all paths."""
    level: list[tuple[int, ...]] = [()]
    found: list[tuple[int, ...]] = []
    for _ in range(depth):
        level = [(*path, int(t)) for path in level for t in law(path).argsort(descending=True)[:width]]
        found += level
    return sorted(found, key=lambda path: -confidence(path, law))[:count]


def eagle2_by_hand(law: Callable[[Sequence[int]], Tensor], count: int, depth: int, k: int) -> set[tuple[int, ...]]:
    level: list[tuple[int, ...]] = [()]
    found: list[tuple[int, ...]] = []
    for _ in range(depth):
        below = [(*path, int(t)) for path in level for t in law(path).argsort(descending=True)[:k]]
        found += below
        level = sorted(below, key=lambda path: -confidence(path, law))[:k]
    return set(sorted(found, key=lambda path: -confidence(path, law))[:count])


@pytest.mark.parametrize("seed", range(6))
def test_eagle2_is_expanded_and_reranked_as_in_the_paper(seed: int) -> None:
    law = model(seed)
    tree, levels = drafted("eagle2:nodes=9,depth=4,top_k=2", law)
    assert paths(tree) == eagle2_by_hand(law, 9, 4, 2)
    assert levels == 4
    assert set(tree.slots[1:]) == {"fixed"}


@pytest.mark.parametrize("spec", ["opt:nodes=9,depth=4,top_k=3,cost=0", "grow:nodes=9,depth=4,top_k=3,threshold=1e-6"])
@pytest.mark.parametrize("seed", range(4))
def test_the_tree_of_highest_confidence_is_found(spec: str, seed: int) -> None:
    law = model(seed)
    assert paths(drafted(spec, law)[0]) == set(best_paths(law, 9, 4, 3))


def test_a_level_that_adds_too_little_is_the_last() -> None:
    law = model(1, sharpness=1.0)
    gains = []
    for depth in (1, 2, 3, 4):
        tree, _ = drafted(f"opt:nodes=6,depth={depth},top_k=3,cost=0", law)
        gains.append(sum(confidence(path, law) for path in paths(tree)))
    steps = [gains[0], *(after - before for before, after in pairwise(gains))]
    cost = (steps[1] + steps[2]) / 2
    assert steps[1] > cost > steps[2]
    assert drafted(f"opt:nodes=6,depth=4,top_k=3,cost={cost:.6f}", law)[1] == 3


def test_grow_leaves_out_what_is_below_the_threshold() -> None:
    law = model(2)
    tree, _ = drafted("grow:nodes=60,depth=3,top_k=6,threshold=0.05", law)
    assert paths(tree) == {path for path in best_paths(law, 10**6, 3, 6) if confidence(path, law) >= 0.05}


def test_no_deeper_than_asked_for() -> None:
    for spec in ("eagle2", "opt", "grow"):
        assert max(drafted(spec, model(0), depth=2)[0].depths) == 2
        assert len(drafted(spec, model(0), depth=0)[0]) == 1


def test_grow_finds_no_less_than_eagle2_with_the_same_budget() -> None:
    for seed in range(8):
        law = model(seed, 2.0)
        sums = [
            sum(confidence(path, law) for path in paths(drafted(spec, law)[0]))
            for spec in ("grow:nodes=20,depth=5,threshold=1e-6", "eagle2:nodes=20,depth=5,top_k=4")
        ]
        assert sums[0] >= sums[1] - 1e-12


def test_a_score_temperature_sharpens_the_confidence() -> None:
    row = torch.tensor([[0.5, 0.3, 0.2, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(tempered(row, 0.5), row**2 / (row**2).sum())
    wide, sharp = (drafted(f"eagle2:nodes=8,temperature={t}", model(3, 1.0))[0] for t in ("1.0", "0.2"))
    assert max(sharp.depths) > max(wide.depths)


def test_verdicts_of_the_request_correct_the_confidence() -> None:
    """Second children are accepted each time though the draft gives them little: they move up in later trees."""
    row = torch.tensor([[0.7, 0.3, 0.0]])
    grower = parse_tree("grow:nodes=3,depth=2,prior=1").start("fixed", greedy=True)
    generator, device = torch.Generator(), torch.device("cpu")

    def grown() -> DraftTree:
        return draft_tree(0, grower.begin(2), lambda t, nodes: row.expand(len(nodes), -1), generator, device).tree

    tree = grown()
    assert paths(tree) == {(0,), (1,), (0, 0)}
    for _ in range(20):
        tree = grown()
        kept, node = [], 0
        while below := [child for child in tree.children[node] if tree.tokens[child] == 1]:
            kept, node = [*kept, below[0]], below[0]
        grower.settle(tree, kept)
    assert {(1,), (1, 1)} < paths(grown())
