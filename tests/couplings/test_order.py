from itertools import permutations

import pytest
import torch

from random_trees import random_tree
from univer import DraftTree, methods, outcome_law
from univer.couplings.base import siblings_of
from univer.couplings.order import sibling_order
from univer.rules import GreedyTransport


def root_order(order: str, tree: DraftTree, target: torch.Tensor) -> list[int]:
    (group,) = tree.topology.levels[0]
    rule = GreedyTransport()
    coupling = rule.couple(siblings_of(tree, target, group, target.new_ones(1)))
    return sibling_order(order, tree, target, rule, group, coupling)[0].tolist()


def test_plain_orders() -> None:
    tree, target = random_tree("greedy", "3x2", 9, seed=0)
    assert root_order("drawn", tree, target) == [0, 1, 2]
    assert root_order("sampled-first", tree, target) == [2, 0, 1]
    (group,) = tree.topology.levels[0]
    kept = GreedyTransport().couple(siblings_of(tree, target, group, target.new_ones(1))).children[0]
    assert kept[root_order("descending", tree, target)].tolist() == sorted(kept.tolist(), reverse=True)


def objective(order: tuple[int, ...], tree: DraftTree, target: torch.Tensor) -> float:
    """`sum_j w_j A(u_j, p(u_j) / w_j)` at the root, computed plainly."""
    (group,) = tree.topology.levels[0]
    rule = GreedyTransport()
    kept = rule.couple(siblings_of(tree, target, group, target.new_ones(1))).children[0].tolist()
    total, remaining = 0.0, 1.0
    for position in order:
        node = int(group.children[0, position])
        (below,) = tree.topology.groups(group.children[0, [position]])
        scale = min(1.0, kept[position] / remaining) if remaining > 1e-15 else 0.0
        accepted = rule.expected_acceptance(siblings_of(tree, target, below, target.new_full((1,), scale)))
        assert below.nodes.tolist() == [node]
        total += remaining * accepted.item()
        remaining -= kept[position]
    return total


@pytest.mark.parametrize("spec", ["2x2", "3x2", "4x2"])
def test_gain_is_the_best_permutation(spec: str) -> None:
    for seed in range(10):
        tree, target = random_tree("greedy", spec, 9, seed)
        values = {order: objective(order, tree, target) for order in permutations(range(int(spec[0])))}
        chosen = tuple(root_order("gain", tree, target))
        assert values[chosen] == pytest.approx(max(values.values()), abs=1e-12)


def test_gain_keeps_the_order_drawn_where_nothing_is_to_gain() -> None:
    tree, target = random_tree("greedy", "3x1", 9, seed=0)
    assert root_order("gain", tree, target) == [0, 1, 2]


def test_gain_is_better_on_average_and_exact_in_depth_two() -> None:
    """Averaged over many drafted trees of depth 2, `gain` keeps at least as much as the order drawn."""
    differences = []
    for seed in range(200):
        tree, target = random_tree("greedy", "2x2", 9, seed)
        depths = torch.tensor(tree.depths, dtype=target.dtype)
        gain, drawn = (outcome_law(tree, target, "univer", order).sum(1) @ depths for order in ("gain", "drawn"))
        differences.append((gain - drawn).item())
    assert sum(differences) > 0


def test_gain_refuses_wide_nodes_and_dropped_children() -> None:
    tree, target = random_tree("greedy", "11x1", 40, seed=0)
    with pytest.raises(ValueError, match="at most 10 children"):
        outcome_law(tree, target, "univer", order="gain")
    row = torch.tensor([0.5, 0.3, 0.2])
    dropped = DraftTree([0, 1], [-1, 0], ["root", "sampled"], {0: row}, "greedy", excluded={0: [0]})
    with pytest.raises(ValueError, match="dropped children"):
        outcome_law(dropped, row.expand(2, 3), "univer", order="gain")


def test_a_rule_without_foresight_refuses_gain() -> None:
    from univer import Method
    from univer.couplings import Lifted
    from univer.rules import Membership

    tree, target = random_tree("fixed", "2x2", 9, seed=0)
    with pytest.raises(ValueError, match="expected_acceptance; Membership has none"):
        outcome_law(tree, target, Method("lifted-membership", Membership(), Lifted(), "test"), order="gain")
    assert methods()["univer"].order == "drawn"
