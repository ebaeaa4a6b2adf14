"""The experiments name trees and methods that exist and go together."""

import pytest

from univer.bench.experiments import EXPERIMENTS, experiment


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_tree_takes_its_methods(name: str) -> None:
    chosen = experiment(name)
    for tree, methods in chosen.trees.items():
        assert len([row for row in chosen.rows if row.tree == tree]) == len(methods)
    assert chosen.reference_tree in {None, *chosen.trees}


def test_sizes_may_be_given() -> None:
    smaller = experiment("depth").sized(count=1, places=2)
    assert (smaller.count, smaller.places, smaller.drafted) == (1, 2, 4)
    assert smaller.trees == experiment("depth").trees


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="main-table"):
        experiment("main")
