import numpy as np
import pytest

from univer.topology import FIXED, ROOT, SAMPLED, Topology

PARENTS = [-1, 0, 0, 1, 1, 2]
SLOTS = [ROOT, FIXED, SAMPLED, FIXED, SAMPLED, SAMPLED]


def test_tables_of_an_unbalanced_tree() -> None:
    topology = Topology(PARENTS, SLOTS)
    assert topology.depths.tolist() == [0, 1, 1, 2, 2, 2]
    assert topology.children.tolist() == [[1, 2], [3, 4], [5, -1], [-1, -1], [-1, -1], [-1, -1]]
    assert topology.sizes.tolist() == [6, 3, 2, 1, 1, 1]
    assert topology.path(4) == [1, 4]
    assert topology.path(0) == []


def test_groups_have_equal_slots() -> None:
    levels = Topology(PARENTS, SLOTS).levels
    assert [[(g.nodes.tolist(), g.fixed, g.sampled) for g in level] for level in levels] == [
        [([0], 1, 1)],
        [([2], 0, 1), ([1], 1, 1)],
    ]


def test_a_single_root_has_no_levels() -> None:
    topology = Topology([-1], [ROOT])
    assert topology.levels == []
    assert topology.children.shape == (1, 0)


def test_union_and_repeat_agree() -> None:
    topology = Topology(PARENTS, SLOTS)
    twice, union = topology.repeat(2), Topology.union([topology, topology])
    assert np.array_equal(twice.parents, union.parents)
    assert np.array_equal(twice.slots, union.slots)
    assert twice.roots.tolist() == [0, 6]
    assert twice.trees.tolist() == [0] * 6 + [1] * 6
    assert twice.depths.tolist() == topology.depths.tolist() * 2


def test_a_child_before_its_parent_is_refused() -> None:
    with pytest.raises(ValueError, match="node 1 comes before its parent 2"):
        Topology([-1, 2, 0], [ROOT, FIXED, FIXED])
