"""Policies that take turns, and the log of what their trees asked for."""

import torch

from univer.drafting.growth import draft_tree
from univer.drafting.growth.parse import parse_tree
from univer.tuning.watch import Turns


def _grow(turns: Turns, count: int, law: str = "greedy") -> list[int]:
    grower = turns.start(law)
    sizes = []
    rows = torch.full((1, 9), 1 / 9)
    for _ in range(count):
        drafted = draft_tree(
            0,
            grower.begin(9),
            lambda _, nodes: rows.expand(len(nodes), -1),
            torch.Generator(),
            torch.device("cpu"),
        )
        grower.settle(drafted.tree, [])
        sizes.append(len(drafted.tree) - 1)
    return sizes


def test_every_policy_gets_its_turn_and_all_is_logged() -> None:
    turns = Turns((parse_tree("2x2"), parse_tree("chain-3"), parse_tree("[-1,0,0]")), seed=3)
    sizes = _grow(turns, 6) + _grow(turns, 3)
    assert turns.counts == [3, 3, 3]
    assert [seen.nodes for seen in turns.log] == sizes
    assert {seen.policy: (seen.nodes, seen.widths) for seen in turns.log} == {
        0: (6, (1, 2)),
        1: (3, (1, 1, 1)),
        2: (2, (1,)),
    }
    assert (turns.max_nodes, turns.max_depth) == (6, 3)


def test_what_is_read_counts_although_it_is_left_out_of_the_tree() -> None:
    turns = Turns((parse_tree("eagle2:nodes=3,depth=3,top_k=3"),))
    _grow(turns, 1, "fixed")
    (seen,) = turns.log
    assert seen.nodes == 3
    assert sum(seen.widths) == len(seen.asked) >= 2


def test_a_policy_learns_from_its_own_trees() -> None:
    turns = Turns((parse_tree("grow:nodes=20,depth=3,threshold=0.001,mean=2"),))
    sizes = _grow(turns, 30)
    assert sizes[-1] < sizes[0]
