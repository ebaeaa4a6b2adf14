import pytest
import torch

from univer.drafting.builder import TreeBuilder
from univer.drafting.shapes import parse_shape


def grow(law: str, spec: str, row: torch.Tensor) -> TreeBuilder:
    builder = TreeBuilder(0, law, parse_shape(spec, law=law))
    while nodes := builder.frontier():
        builder.expand_planned(
            nodes, row.expand(len(nodes), -1), torch.full((builder.uniforms_needed(nodes),), 0.6, dtype=torch.float64)
        )
    return builder


def test_a_static_shape_is_filled() -> None:
    row = torch.tensor([0.4, 0.3, 0.2, 0.1])
    for spec in ("2x3", "3x2", "eagle"):
        tree = grow("greedy", spec, row).finish()
        assert tuple(sorted(tree.depths)) == tuple(sorted(parse_shape_depths(spec)))


def parse_shape_depths(spec: str) -> list[int]:
    depths = [0]
    for parent in parse_shape(spec).parents[1:]:
        depths.append(depths[parent] + 1)
    return depths


def test_used_up_support_leaves_out_slots_and_what_is_below_them() -> None:
    tree = grow("greedy", "2x3", torch.tensor([0.0, 1.0, 0.0])).finish()
    assert tree.parents == [-1, 0, 1, 2]
    assert tree.slots[1:] == ["fixed"] * 3


def test_children_in_the_order_drawn_take_the_planned_subtrees() -> None:
    tree = grow("greedy", "eagle", torch.tensor([0.3, 0.25, 0.2, 0.15, 0.1])).finish()
    assert [len(children) for children in tree.children[:5]] == [4, 3, 2, 2, 1]
    assert [tree.slots[child] for child in tree.children[0]] == ["fixed"] * 3 + ["sampled"]


def test_the_growth_rule_refuses_a_second_expansion() -> None:
    builder = TreeBuilder(0, "mixed")
    row = torch.tensor([0.5, 0.3, 0.2])
    (child,) = builder.add(0, [(2, "sampled")], row)
    builder.add(child, [(0, "fixed")])
    with pytest.raises(ValueError, match="node 0 was expanded before"):
        builder.add(0, [(1, "fixed")])
    assert builder.finish(planned=False).planned is False


def test_a_sampled_child_needs_its_row() -> None:
    with pytest.raises(ValueError, match="its draft law is needed"):
        TreeBuilder(0, "chain").add(0, [(1, "sampled")])


def test_without_a_shape_there_is_no_frontier() -> None:
    with pytest.raises(ValueError, match="no static shape"):
        TreeBuilder(0, "mixed").frontier()
