"""The draft law as the audit enumerates it, against how the package draws it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from univer.audit.cases import FAMILIES, family_cases
from univer.audit.enumeration import TooManyTreesError, drafted_trees, first_round, two_rounds
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.static import StaticGrowth
from univer.tree import SAMPLED


@pytest.mark.parametrize("family", ["chain", "iid", "swor", "greedy", "mixed", "fixed"])
def test_every_enumerated_tree_is_drawn_by_the_coins_of_its_cell(family: str) -> None:
    for case in family_cases(family, 16, seed=1):
        if case.depth > 2:
            continue
        model = case.model()
        groups = first_round(case, model)
        assert sum(group.chances.sum() for group in groups) == pytest.approx(1, abs=1e-12)
        for group in groups:
            for number in range(0, len(group.chances), max(1, len(group.chances) // 40)):
                tree, _, _ = group.tree(number, model)
                volume, builder, growth = 1.0, TreeBuilder(0, case.law), StaticGrowth(case.shape)
                prefixes = {0: 0}
                nodes = growth.frontier(builder, [0])
                while nodes:
                    numbers = [prefixes[node] for node in nodes]
                    decisions = growth.slots(builder, nodes, model.scores[numbers], [()] * len(nodes))
                    sampled = [decision.sampled for decision in decisions]
                    coins, share = _coins(case, tree, sampled, nodes, model.draft[numbers])
                    volume *= share
                    added = builder.expand(nodes, decisions, model.draft[numbers], coins)
                    for child in added:
                        parent = prefixes[builder.parents[child]]
                        prefixes[child] = parent * case.vocabulary + 1 + builder.tokens[child]
                    nodes = growth.frontier(builder, added)
                assert builder.tokens[1:] == tree.tokens[1:].tolist(), case.name
                assert builder.slots == tree.slots
                assert group.chances[number] == pytest.approx(volume, rel=1e-6)


def _coins(case, tree, sampled, nodes, rows):  # type: ignore[no-untyped-def]
    """The middle of the cell of every sampled child that the tree has at these nodes, and the volume of the cells."""
    coins, volume = [], 1.0
    for node, planned, row in zip(nodes, sampled, rows, strict=True):
        left = row.clone()
        children = tree.children[node] if node < len(tree) else []
        left[[int(tree.tokens[child]) for child in children if tree.slots[child] == "fixed"]] = 0
        drawn = [int(tree.tokens[child]) for child in children if tree.slots[child] == "sampled"]
        for token in drawn:
            upper = left.cumsum(0) / left.sum()
            width = float(left[token] / left.sum())
            coins.append(float(upper[token]) - width / 2)
            volume *= width
            if case.law != "iid":
                left[token] = 0
        coins += [0.5] * (planned - len(drawn))
    return torch.tensor(coins, dtype=torch.float64), volume


@pytest.mark.parametrize("family", list(FAMILIES))
def test_enumerated_trees_are_laws_over_checked_trees(family: str) -> None:
    for case in family_cases(family, 4, seed=2):
        model = case.model()
        starts = np.arange(1 + case.vocabulary)
        groups = drafted_trees(case, model, starts)
        totals = np.bincount(
            np.concatenate([group.starts for group in groups]), np.concatenate([group.chances for group in groups])
        )
        np.testing.assert_allclose(totals, 1, atol=1e-12)
        for group in groups:
            for number in range(0, len(group.chances), max(1, len(group.chances) // 20)):
                tree, targets, _ = group.tree(number, model)
                assert targets.shape == (len(tree), case.vocabulary)
                assert tree.law == case.law


def test_dropped_fixed_children_stay_excluded() -> None:
    case = family_cases("dropped", 1, seed=0)[0]
    groups = first_round(case, case.model())
    # The second fixed child of each node one above the leaves is gone: 1 fixed and 1 sampled remain of 2 and 1.
    for group in groups:
        for number in range(len(group.chances)):
            tree, _, _ = group.tree(number, case.model())
            for node, tokens in tree.excluded.items():
                assert len(tokens) == 1
                assert sum(tree.slots[child] == "fixed" for child in tree.children[node]) == 1
    assert any(group.forest.excluded for group in groups)


def test_the_limit_is_on_the_trees_of_every_prefix_of_both_rounds() -> None:
    for case in [*family_cases("swor", 9, 0), *family_cases("greedy", 9, 0)]:
        parts = two_rounds(case).parts
        most = max(np.bincount(np.concatenate([part.starts for part in parts])))
        assert len(two_rounds(case, most=most).parts) == len(parts)
        with pytest.raises(TooManyTreesError, match=f"more than {most - 1} drafted trees"):
            two_rounds(case, most=most - 1)
    full = replace(family_cases("greedy", 1, 0)[0], kind="smooth")
    assert any((group.forest.topology.slots == SAMPLED).any() for group in first_round(full, full.model()))
