import pytest
import torch

from univer.drafting.builder import TreeBuilder
from univer.drafting.slots import NodeSlots

ROW = torch.tensor([[0.4, 0.3, 0.2, 0.1]])


def test_a_level_is_expanded_at_once() -> None:
    builder = TreeBuilder(0, "mixed")
    level = builder.expand([0], [NodeSlots((0, 1), 1)], ROW, torch.tensor([0.0]))
    assert (builder.tokens[1:], builder.slots[1:], level) == ([0, 1, 2], ["fixed", "fixed", "sampled"], [1, 2, 3])
    assert builder.ranks[1:] == [0, 1, 0]
    decisions = [NodeSlots((), 2), NodeSlots((3,), 0), NodeSlots((1,), 1)]
    new = builder.expand([1, 2, 3], decisions, ROW.expand(3, -1), torch.tensor([0.85, 0.85, 0.99]))
    assert [builder.parents[node] for node in new] == [1, 1, 2, 3, 3]
    assert [builder.tokens[node] for node in new] == [2, 1, 3, 1, 3]
    assert [builder.depths[node] for node in new] == [2] * 5
    assert sorted(builder.rows) == [0, 1, 3]


def test_a_sampled_slot_without_mass_is_not_created() -> None:
    builder = TreeBuilder(0, "greedy")
    assert builder.expand([0], [NodeSlots((1,), 1)], torch.tensor([[0.0, 1.0]]), torch.tensor([0.5])) == [1]
    assert builder.rows == {}


def test_a_fixed_token_may_lie_outside_the_draft_law() -> None:
    builder = TreeBuilder(0, "greedy")
    builder.expand([0], [NodeSlots((0, 2), 1)], torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([0.5]))
    assert builder.finish().tokens.tolist() == [0, 0, 2, 1]


def test_the_growth_rule_refuses_a_second_expansion() -> None:
    builder = TreeBuilder(0, "mixed")
    (child,) = builder.add(0, [(2, "sampled")], ROW[0])
    builder.add(child, [(0, "fixed")])
    with pytest.raises(ValueError, match="node 0 was expanded before"):
        builder.add(0, [(1, "fixed")])
    with pytest.raises(ValueError, match="node 0 was expanded before"):
        builder.expand([0], [NodeSlots((1,), 0)], ROW, torch.zeros(0))
    assert builder.finish(planned=False).planned is False


def test_a_fixed_token_is_not_given_twice() -> None:
    with pytest.raises(ValueError, match="the same fixed token twice"):
        TreeBuilder(0, "fixed").expand([0], [NodeSlots((1, 1), 0)], ROW, torch.zeros(0))


def test_a_sampled_child_needs_its_row() -> None:
    with pytest.raises(ValueError, match="pass its draft distribution as row"):
        TreeBuilder(0, "chain").add(0, [(1, "sampled")])


def test_sampled_children_and_what_stands_above_them_cannot_be_dropped() -> None:
    builder = TreeBuilder(0, "greedy")
    builder.add(0, [(0, "fixed"), (1, "fixed"), (3, "sampled")], ROW[0])
    builder.add(1, [(2, "sampled")], ROW[0])
    for node in (3, 4, 1, 0):
        with pytest.raises(ValueError, match="only fixed nodes with nothing sampled below may be dropped"):
            builder.finish(leave_out=[node])


def test_a_fixed_child_beside_one_with_something_sampled_below_cannot_be_dropped() -> None:
    builder = TreeBuilder(0, "mixed")
    row = torch.full((8,), 1 / 8)
    builder.add(0, [(1, "fixed"), (2, "fixed"), (3, "sampled")], row)
    builder.add(3, [(4, "fixed")])
    assert builder.finish(leave_out=[1]).tokens.tolist() == [0, 2, 3, 4]
    builder.add(4, [(5, "sampled")], row)
    with pytest.raises(ValueError, match="a node below its sibling 3 is sampled"):
        builder.finish(leave_out=[1])


def test_a_dropped_fixed_child_stays_excluded_from_the_law_of_its_siblings() -> None:
    builder = TreeBuilder(0, "greedy")
    builder.add(0, [(0, "fixed"), (1, "fixed"), (3, "sampled")], ROW[0])
    builder.add(1, [(2, "fixed"), (1, "fixed")])
    tree = builder.finish(leave_out=[2, 4])
    assert (tree.tokens.tolist(), tree.parents) == ([0, 0, 3, 1], [-1, 0, 0, 1])
    assert builder.kept == [0, 1, 3, 5]
    assert tree.excluded == {0: (1,)}
    law = tree.sampling_distribution(tree.topology.levels[0][0])
    torch.testing.assert_close(law, torch.tensor([[0.0, 0.0, 2 / 3, 1 / 3]]))
