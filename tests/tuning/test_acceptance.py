"""Acceptance probabilities against exact outcome distributions."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from univer import end_distribution, outcome_law
from univer.drafting.growth import Static, draft_tree
from univer.drafting.shapes import Shape, balanced, from_parents
from univer.methods import resolve
from univer.rules.base import Siblings
from univer.tree import DraftTree, Forest
from univer.tuning.acceptance import AcceptanceCounts, child_chances, probing_shape

VOCABULARY = 7


def _distributions(seed: int, rows: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, VOCABULARY, generator=generator, dtype=torch.float64).mul(1.5).softmax(-1)


def _draw(shape: Shape, draft: Tensor, generator: torch.Generator) -> DraftTree:
    """A tree whose nodes all have the same draft distribution `[1, V]`."""
    growth = Static(shape).start(shape.law).begin(shape.depth)
    read = draft.expand
    return draft_tree(0, growth, lambda _, nodes: read(len(nodes), VOCABULARY), generator, torch.device("cpu")).tree


def test_fixed_children_are_read_off_the_outcome_law() -> None:
    method = resolve("membership")
    counts = AcceptanceCounts(method, "fixed", depth=2, width=3)
    tree = _draw(balanced(3, 2, "fixed"), _distributions(0, 1), torch.Generator())
    target = _distributions(1, len(tree))
    counts.add(tree, target, [0, 1, 2, 3], torch.Generator())
    ends = outcome_law(tree, target, method).sum(1)
    # Some child is kept unless the round ends at the root.
    assert counts.kept[0, 2].sum() == pytest.approx(1 - float(ends[0]), abs=1e-12)
    below = sum(float(ends[node]) for node in range(4, 13))
    assert counts.kept[1, 2].sum() == pytest.approx(below, abs=1e-12)
    # What is kept does not depend on what stands beside it.
    assert np.allclose(counts.kept[0, 0, 0], counts.kept[0, 2, 0])


def _all_draws(draft: Tensor, law: str, width: int) -> list[tuple[float, DraftTree]]:
    """Every tree of one node with its probability."""
    shape = balanced(width, 1, law)
    fixed = draft[0].topk(shape.fixed[0]).indices.tolist()
    slots = ["root", *["fixed"] * shape.fixed[0], *["sampled"] * shape.sampled[0]]
    found = []
    for tokens in itertools.product(range(VOCABULARY), repeat=shape.sampled[0]):
        left, chance = draft[0].clone(), 1.0
        left[fixed] = 0.0
        for token in tokens:
            chance *= float(left[token] / left.sum())
            if law != "iid":
                left[token] = 0.0
        if chance > 0:
            tree = DraftTree([0, *fixed, *tokens], [-1, *[0] * width], slots, {0: draft[0]}, law)
            found.append((chance, tree))
    return found


@pytest.mark.parametrize("name", ["greedy", "univer", "rrsw", "traversal", "mixed", "rrs"])
def test_chances_are_those_of_the_trees_that_can_be_drawn(name: str) -> None:
    method = resolve(name)
    draft, target = _distributions(3, 1), _distributions(4, 1)
    drawn = _all_draws(draft, method.draft_law, 3)
    assert sum(chance for chance, _ in drawn) == pytest.approx(1)
    forest = Forest.union([tree for _, tree in drawn])
    ends = end_distribution(forest, target.expand(len(forest), -1).contiguous(), method).reshape(len(drawn), 4)
    exact = torch.tensor([chance for chance, _ in drawn], dtype=ends.dtype) @ ends[:, 1:]
    rows = 6000
    found = child_chances(
        method,
        method.draft_law,
        3,
        target.expand(rows, -1),
        draft.expand(rows, -1),
        torch.ones(rows, dtype=torch.float64),
        torch.Generator().manual_seed(2),
    )
    assert found.mean(0) == pytest.approx(exact.numpy(), abs=0.02)


def test_chances_at_a_prefix_scale_add_up_to_what_the_rule_expects() -> None:
    method = resolve("univer")
    rows, scale = 4000, 0.6
    draft, target = _distributions(5, 1), _distributions(6, 1)
    found = child_chances(
        method,
        "greedy",
        3,
        target.expand(rows, -1),
        draft.expand(rows, -1),
        torch.full((rows,), scale, dtype=torch.float64),
        torch.Generator().manual_seed(0),
    ).mean(0)
    best = draft.topk(2).indices
    left = draft.scatter(1, best, 0.0)
    siblings = Siblings(
        target, left / left.sum(), torch.tensor([scale]), torch.cat([best, best[:, :1]], 1), 2, "greedy"
    )
    expected = float(method.rule.expected_acceptance(siblings)) / scale  # type: ignore[attr-defined]
    assert found.sum() == pytest.approx(expected, abs=0.02)


def test_without_memory_the_table_gives_the_expected_length() -> None:
    """If every node has the same distributions, probabilities of one level multiply along a path."""
    method, generator = resolve("greedy"), torch.Generator().manual_seed(1)
    draft, target = _distributions(8, 1), _distributions(9, 1)
    counts = AcceptanceCounts(method, "greedy", depth=3, width=3)
    shape = counts.probe()
    for _ in range(12):
        tree = _draw(shape, draft, generator)
        inner = [node for node, children in enumerate(tree.children) if children]
        counts.add(tree, target.expand(len(tree), -1).contiguous(), inner, generator)
    table = counts.table()
    of_two, of_one = table[0][1], table[1][0]
    planned = of_two[0] * (1 + of_one[0]) + of_two[1]
    drawn = from_parents([-1, 0, 0, 1], "greedy")
    forest = Forest.union([_draw(drawn, draft, generator) for _ in range(400)])
    ends = end_distribution(forest, target.expand(len(forest), -1).contiguous(), method)
    shown = float(ends @ torch.from_numpy(forest.topology.depths).to(ends)) / 400
    assert planned == pytest.approx(shown, abs=0.07)


def test_little_support_leaves_slots_empty() -> None:
    method = resolve("traversal")
    draft = torch.zeros(1, VOCABULARY, dtype=torch.float64)
    draft[0, :2] = 0.5
    chances = child_chances(method, "swor", 4, _distributions(1, 1), draft, torch.ones(1), torch.Generator())
    assert (chances[0, 2:] == 0).all()
    assert chances[0, :2].sum() > 0


def test_a_table_of_nothing_is_empty_and_a_chain_has_one_child() -> None:
    counts = AcceptanceCounts(resolve("block"), "chain", depth=2, width=5)
    assert counts.width == 1
    assert counts.table() == []
    assert counts.probe().law == "chain"


def test_the_probe_spends_its_nodes_on_likely_paths() -> None:
    shape = probing_shape("greedy", 3, 10, 4)
    assert len(shape.parents) == 31
    assert shape.depth == 4
