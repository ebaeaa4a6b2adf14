"""Static shapes as growth policies."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Guess, Static, draft_tree
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.shapes import parse_shape
from univer.tree import DraftTree


def grow(law: str, spec: str, row: Tensor, guesses: Sequence[Guess] = ()) -> DraftTree:
    def rows(tree: TreeBuilder, nodes: Sequence[int]) -> Tensor:
        return row.expand(len(nodes), -1)

    def guess(tree: TreeBuilder, nodes: Sequence[int]) -> list[Sequence[Guess]]:
        return [guesses for _ in nodes]

    growth, generator = StaticGrowth(parse_shape(spec, law)), torch.Generator().manual_seed(0)
    return draft_tree(0, growth, rows, generator, torch.device("cpu"), guess).tree


@pytest.mark.parametrize("spec", ["2x3", "3x2", "eagle"])
def test_a_shape_is_filled(spec: str) -> None:
    depths = [0]
    for parent in parse_shape(spec).parents[1:]:
        depths.append(depths[parent] + 1)
    assert sorted(grow("greedy", spec, torch.tensor([0.4, 0.3, 0.2, 0.1])).depths) == sorted(depths)


def test_used_up_support_leaves_out_slots_and_what_is_below_them() -> None:
    tree = grow("greedy", "2x3", torch.tensor([0.0, 1.0, 0.0]))
    assert tree.parents == [-1, 0, 1, 2]
    assert tree.slots[1:] == ["fixed"] * 3


def test_children_in_the_order_drawn_take_the_planned_subtrees() -> None:
    tree = grow("greedy", "eagle", torch.tensor([0.3, 0.25, 0.2, 0.15, 0.1]))
    assert [len(children) for children in tree.children[:5]] == [4, 3, 2, 2, 1]
    assert [tree.slots[child] for child in tree.children[0]] == ["fixed"] * 3 + ["sampled"]


def test_a_sampled_child_takes_its_own_subtree_where_fixed_ones_are_missing() -> None:
    """Two of three fixed slots stay empty: the draft's only ranked token is the guess. The sampled child is the 4th."""
    shape = parse_shape([[0], [1], [2], [3], [0, 0], [1, 0], [2, 0], [3, 0], [3, 1]], "greedy")
    growth, builder = StaticGrowth(shape), TreeBuilder(0, "greedy")
    growth.frontier(builder, [0])
    rows, scores = torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.0, 0.0, 1.0]])
    (root,) = growth.slots(builder, [0], scores, [()])
    added = builder.expand([0], [root], rows, torch.tensor([0.1]))
    level = growth.frontier(builder, added)
    slots = growth.slots(builder, level, rows.expand(2, -1), [()] * 2)
    assert [len(entry.fixed) + entry.sampled for entry in slots] == [1, 2]


def test_guesses_and_the_draft_law_share_the_fixed_slots() -> None:
    row = torch.tensor([0.5, 0.3, 0.2, 0.0])
    tree = grow("greedy", "3x1", row, [Guess(3, 0.4), Guess(0, 0.1)])
    assert tree.tokens[1:3].tolist() == [0, 3]
    assert tree.slots[3] == "sampled"
    assert int(tree.tokens[3]) in (1, 2)


def test_no_deeper_than_the_text_has_room() -> None:
    grower = Static(parse_shape("2x3", "greedy")).start("swor")
    assert [grower.begin(depth).depth for depth in (0, 2, 3, 9)] == [0, 2, 3, 3]
    assert grower.begin(1).law == "swor"
    with pytest.raises(ValueError, match="a chain has one child per node"):
        Static(parse_shape("2x3", "greedy")).start("chain")
