"""Alternating policies, and the records of what their trees asked of the draft."""

import torch

from univer.drafting.growth import draft_tree
from univer.drafting.growth.parse import parse_tree
from univer.tuning.alternating import AlternatingPolicy


def _grow(policy: AlternatingPolicy, count: int, law: str = "greedy") -> list[int]:
    grower = policy.start(law)
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


def test_every_policy_is_used_equally_often_and_all_trees_are_recorded() -> None:
    policy = AlternatingPolicy((parse_tree("2x2"), parse_tree("chain-3"), parse_tree("[-1,0,0]")), seed=3)
    sizes = _grow(policy, 6) + _grow(policy, 3)
    assert sorted(record.policy for record in policy.records) == [0] * 3 + [1] * 3 + [2] * 3
    assert [record.nodes for record in policy.records] == sizes
    assert {record.policy: (record.nodes, record.widths) for record in policy.records} == {
        0: (6, (1, 2)),
        1: (3, (1, 1, 1)),
        2: (2, (1,)),
    }
    assert (policy.max_nodes, policy.max_depth) == (6, 3)


def test_what_is_read_counts_although_it_is_left_out_of_the_tree() -> None:
    policy = AlternatingPolicy((parse_tree("eagle2:nodes=3,depth=3,top_k=3"),))
    _grow(policy, 1, "fixed")
    (record,) = policy.records
    assert record.nodes == 3
    assert sum(record.widths) == len(record.expanded) >= 2


def test_a_policy_learns_from_its_own_trees() -> None:
    policy = AlternatingPolicy((parse_tree("grow:nodes=20,depth=3,threshold=0.001,mean=2"),))
    sizes = _grow(policy, 30)
    assert sizes[-1] < sizes[0]
