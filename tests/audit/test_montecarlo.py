"""Counted verdicts."""

import pytest
import torch
from torch import Tensor

import univer
from univer.audit.checks import FAMILY_LEVEL
from univer.audit.grids import verify_by
from univer.audit.montecarlo import count_verdicts, fixed_trees
from univer.tree import Forest
from walk import walk


@pytest.mark.parametrize("name", ["token", "rrs-lifted", "traversal", "spectr", "univer", "univer-mixed", "membership"])
def test_verdicts_are_counted_as_the_outcome_law_says(name: str) -> None:
    method = univer.methods()[name]
    for tree, targets in fixed_trees(method.draft_law, seed=2):
        law = univer.outcome_law(tree, targets, method)
        assert count_verdicts(tree, targets, law, verify_by(method), 4_000, seed=1) > 1e-5
        coins = torch.rand(40, len(tree) + 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        for row in coins:
            verdict = univer.verify(tree, targets, name, uniforms=row)
            end = verdict.path[-1] if verdict.path else 0
            assert end == walk(tree, targets, method, method.order, row.tolist())


def test_a_verification_that_skips_a_test_is_found_by_counting() -> None:
    tree, targets = next(iter(fixed_trees("greedy", seed=2)))
    law = univer.outcome_law(tree, targets, "univer")

    def eager(forest: Forest, laws: Tensor, uniforms: Tensor, token_uniforms: Tensor) -> tuple[Tensor, Tensor]:
        return univer.verify_forest(forest, laws, "univer", uniforms * 0.9, token_uniforms)

    assert count_verdicts(tree, targets, law, eager, 4_000, seed=1) < FAMILY_LEVEL
    assert torch.isclose(law.sum(), torch.tensor(1.0))
