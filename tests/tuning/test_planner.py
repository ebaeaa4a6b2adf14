"""The dynamic programme against all trees, one by one."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from univer.tuning.planner import best_plans, fastest, inner_widths

Nested = tuple["Nested", ...]


def _trees(nodes: int, depth: int, width: int) -> Iterator[Nested]:
    """All ordered trees with so many nodes below the root, at most so deep and wide."""
    if nodes == 0:
        yield ()
    elif depth > 0:
        for count in range(1, min(width, nodes) + 1):
            for split in itertools.product(range(nodes - count + 1), repeat=count):
                if sum(split) == nodes - count:
                    yield from itertools.product(*(tuple(_trees(size, depth - 1, width)) for size in split))


def _value(tree: Nested, chances: list[list[list[float]]], depth: int = 0) -> float:
    if not tree:
        return 0.0
    row = chances[min(depth, len(chances) - 1)][len(tree) - 1]
    return sum(chance * (1 + _value(child, chances, depth + 1)) for chance, child in zip(row, tree, strict=True))


def _nested(parents: tuple[int, ...], node: int = 0) -> Nested:
    return tuple(_nested(parents, child) for child, parent in enumerate(parents) if parent == node)


def _chances(seed: int, depths: int, width: int) -> list[list[list[float]]]:
    generator = np.random.default_rng(seed)
    rows = [[generator.dirichlet(np.ones(m + 1))[:m] for m in range(1, width + 1)] for _ in range(depths)]
    return [[row.tolist() for row in table] for table in rows]


@pytest.mark.parametrize("seed", range(4))
def test_best_of_all_trees_of_every_size_and_depth(seed: int) -> None:
    chances = _chances(seed, depths=2, width=3)
    plans = {(plan.nodes, len(plan.widths)): plan for plan in best_plans(chances, 6, 3)}
    for size, limit in itertools.product(range(1, 7), range(1, 4)):
        trees = list(_trees(size, limit, 3))
        if not trees:
            assert (size, limit) not in plans
            continue
        best = max(_value(tree, chances) for tree in trees)
        found = max(plans[size, depth].accepted for depth in range(1, limit + 1) if (size, depth) in plans)
        assert found == pytest.approx(best, abs=1e-12)


def test_a_plan_is_worth_what_it_says() -> None:
    chances = _chances(7, depths=3, width=4)
    for plan in best_plans(chances, 12, 4):
        assert plan.accepted == pytest.approx(_value(_nested(plan.parents), chances), abs=1e-12)
        assert plan.widths == inner_widths(plan.parents)


def test_chances_of_zero_do_no_harm() -> None:
    plans = list(best_plans([[[0.0], [0.5, 0.0]]], 4, 2))
    assert max(plan.accepted for plan in plans) == 0.75
    assert all(np.isfinite(plan.accepted) for plan in plans)


def test_costs_decide_between_wide_and_deep() -> None:
    chances = [[[0.6], [0.5, 0.2]]]
    deep = fastest(best_plans(chances, 4, 4), lambda nodes, widths: 1.0 + 0.1 * nodes)[0][0]
    wide = fastest(best_plans(chances, 4, 4), lambda nodes, widths: 1.0 + 0.9 * len(widths))[0][0]
    assert len(deep.widths) > len(wide.widths) == 1


@pytest.mark.parametrize(("nodes", "depth", "table"), [(0, 1, [[[0.5]]]), (1, 0, [[[0.5]]]), (1, 1, []), (1, 1, [[]])])
def test_nothing_to_plan_is_refused(nodes: int, depth: int, table: list[list[list[float]]]) -> None:
    with pytest.raises(ValueError, match=r"at least one node|no acceptance probabilities"):
        list(best_plans(table, nodes, depth))
