"""Figures of the paper stand beside the cell they were measured in, and beside no other."""

import pytest

from univer.bench.paper import paper_gain


@pytest.mark.parametrize(("method", "gain"), [("traversal", 0.023), ("greedy", 0.049), ("univer", 0.075)])
def test_gains_on_the_binary_tree(method: str, gain: float) -> None:
    assert paper_gain("2x5", 1.0, method) == gain
    assert paper_gain("2x5", 1, method, "all") == gain


@pytest.mark.parametrize(
    "cell",
    [
        ("2x5", 0.6, "univer", "all"),
        ("3x3", 1.0, "univer", "all"),
        ("2x5", 1.0, "univer (gain)", "all"),
        ("2x5", 1.0, "univer", "qa"),
        (None, 1.0, "plain", "all"),
    ],
)
def test_other_cells_have_none(cell: tuple[str | None, float, str, str]) -> None:
    assert paper_gain(*cell) is None
