"""The grid of uniforms."""

import numpy as np
import pytest
import torch

import univer
from univer.audit.broken_verification import LessOrEqual, reuse_across_rounds, reuse_for_token
from univer.audit.grids import (
    LARGEST,
    Cells,
    audit_round,
    audit_rounds,
    generator_faults,
    one_by_one,
    play_by,
    small_grids,
    verify_by,
)
from univer.methods import Method


def test_cells_keep_the_threshold_and_the_ends() -> None:
    cells = Cells.below(0.25)
    assert cells.widths.tolist() == [0.25, 0.75]
    assert cells.corners(0) == [0.0, float(np.nextafter(0.25, 0))]
    assert cells.corners(1) == [0.25, LARGEST]
    assert Cells.below(0.0).widths.tolist() == Cells.below(1.0).widths.tolist() == [1.0]
    assert Cells.between(np.array([0.5, 0.5 + 1e-16, 0.0, 1.0])).edges.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("name", ["token", "block", "rrsw", "traversal", "spectr", "univer", "mixed", "membership"])
def test_one_tree_and_many_follow_the_outcome_law_to_the_edges(name: str) -> None:
    method = univer.methods()[name]
    for grid in small_grids(method, 5, 3):
        ways = [verify_by(method)]
        if len(grid.rows()[0]) < 150:
            ways.append(one_by_one(method, grid))
            assert generator_faults(method, grid, None, seed=1) == 0
        for way in ways:
            found = audit_round(grid, way)
            assert found.error < 1e-12
            assert found.edges == 0
            assert found.rows > 0


def test_less_or_equal_is_seen_at_the_edges_only() -> None:
    twin = Method("twin", univer.methods()["univer"].rule, LessOrEqual(), "wrong on purpose")
    found = [audit_round(grid, verify_by(twin)) for grid in small_grids(univer.methods()["univer"], 5, 3)]
    assert max(faults.error for faults in found) < 1e-12
    assert sum(faults.edges for faults in found) > 0


def test_reused_coins_are_seen_in_two_rounds() -> None:
    method = univer.methods()["token"]
    first, second = [grid for grid in small_grids(method, 16, 3) if len(grid.tree) == 2][:2]
    assert audit_rounds(first, second, play_by(method)) < 1e-12
    assert audit_rounds(first, second, reuse_across_rounds(method)) > 1e-3
    assert audit_rounds(first, second, reuse_for_token(method)) > 1e-3


def test_a_generator_used_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    method = univer.methods()["univer"]
    grid = small_grids(method, 5, 3)[0]

    def forgetful(tree, laws, method, generator=None, order=None, uniforms=None):  # type: ignore[no-untyped-def]
        coins = torch.full((len(tree) + 1,), 0.5) if generator is not None else uniforms
        return univer.verify(tree, laws, method, order=order, uniforms=coins)

    monkeypatch.setattr("univer.audit.grids.verify", forgetful)
    assert generator_faults(method, grid, None, seed=1, rounds=64) > 0
