from typing import Any

import pytest

from univer.drafting.shapes import from_parents, parse_shape, split_slots


@pytest.mark.parametrize(
    ("spec", "nodes", "depth"), [("2x5", 63, 5), ("3x3", 40, 3), ("chain-5", 6, 5), ("eagle", 26, 5), ("4x0", 1, 0)]
)
def test_named_shapes(spec: str, nodes: int, depth: int) -> None:
    shape = parse_shape(spec)
    assert (len(shape.parents), shape.depth) == (nodes, depth)
    assert sum(shape.fixed) + sum(shape.sampled) == nodes - 1


@pytest.mark.parametrize(
    ("law", "split"), [("iid", (0, 4)), ("swor", (0, 4)), ("fixed", (4, 0)), ("greedy", (3, 1)), ("mixed", (2, 2))]
)
def test_slots_by_law(law: str, split: tuple[int, int]) -> None:
    assert split_slots(4, law) == split
    shape = parse_shape("4x2", law=law)
    assert (shape.fixed[0], shape.sampled[0]) == split


def test_mixed_takes_a_number_of_sampled_children() -> None:
    assert split_slots(6, "mixed", sampled=3) == (3, 3)
    assert split_slots(2, "mixed", sampled=3) == (0, 2)


def test_lists() -> None:
    assert parse_shape([-1, 0, 0, 1]).parents == (-1, 0, 0, 1)
    assert parse_shape([[0, 0], [0], [1]]).parents == (-1, 0, 0, 1)
    again = parse_shape(parse_shape("2x2"), law="swor")
    assert (again.law, again.sampled[0]) == ("swor", 2)


def test_clipping_keeps_the_upper_levels() -> None:
    shape = parse_shape("2x5").clipped(2)
    assert shape.parents == parse_shape("2x2").parents
    assert shape.fixed == parse_shape("2x2").fixed
    assert parse_shape("2x5").clipped(0).parents == (-1,)


FAULTS: list[tuple[Any, str, str]] = [
    ("2y5", "greedy", "unknown tree '2y5'"),
    ("0x3", "greedy", "width of at least 1"),
    ("2x2", "chain", "a chain has one child per node"),
    ("2x2", "beam", "unknown sampling scheme"),
    ([0, -1], "greedy", "starts with -1"),
    ([], "greedy", "starts with -1"),
    ([-1, 2, 0], "greedy", "list parents before"),
    ([[0], [1, 0]], "greedy", r"misses its prefix \[1\]"),
    ([[0], [2]], "greedy", "sibling of rank 1 is missing"),
    ([[0], [0]], "greedy", "listed twice"),
    ([-1, [0]], "greedy", "not both"),
    (["x"], "greedy", "is not a tree: use a name such as '2x5'"),
    ([[0], "a"], "greedy", "is not a tree"),
    ([[0], ["a"]], "greedy", "is not a tree"),
    ([[[0]]], "greedy", "is not a tree"),
    ([None], "greedy", "None.* is not a tree"),
    ([-1, False], "greedy", "all entries are integers"),
    (None, "greedy", "None is not a tree"),
    (3, "greedy", "3 is not a tree"),
    ("4x14", "greedy", "'4x14' has more than 4096 nodes"),
    ("10x9", "greedy", "more than 4096 nodes"),
    ("1x99999999", "greedy", "more than 4096 nodes"),
    ("99999999x1", "greedy", "more than 4096 nodes"),
    ("chain-99999999", "greedy", "more than 4096 nodes"),
]


@pytest.mark.parametrize(("spec", "law", "message"), FAULTS)
def test_fault_37_a_shape_that_makes_no_tree_is_refused(spec: Any, law: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_shape(spec, law=law)


def test_parents_may_be_numbered_depth_first() -> None:
    assert from_parents([-1, 0, 1, 0]).fixed == (1, 0, 0, 0)
