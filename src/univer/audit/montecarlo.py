"""Counted verdicts on fixed trees over larger vocabularies, against the exact outcome distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch

from univer.audit.cases import DEEP, LEFT, WIDE, Plan
from univer.audit.checks import fit_p_value
from univer.audit.grids import Verify, repeated
from univer.audit.models import make_rows
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import draft_tree
from univer.drafting.growth.static import StaticGrowth
from univer.tree import DraftTree

ROWS = 200_000
# Entries of the distributions of one batch of trees.
BATCH_ENTRIES = 1 << 21

# Two fixed trees per sampling scheme: one over 50 tokens, and a deeper one over fewer.
PLANS: dict[str, tuple[tuple[Plan, str], ...]] = {
    "chain": ((Plan("chain-2", 50), "smooth"), (Plan("chain-3", 12), "peaked")),
    "iid": ((Plan("2x1", 50), "smooth"), (Plan(LEFT, 12), "peaked")),
    "swor": ((Plan("2x1", 50), "smooth"), (Plan(LEFT, 12), "peaked")),
    "greedy": ((Plan(LEFT, 50), "smooth"), (Plan(WIDE, 12), "peaked")),
    "mixed": ((Plan("3x1", 50, 2), "smooth"), (Plan(WIDE, 12, 2), "peaked")),
    "fixed": ((Plan("3x1", 50), "smooth"), (Plan(DEEP, 12), "peaked")),
}


def fixed_trees(law: str, seed: int) -> Iterator[tuple[DraftTree, torch.Tensor]]:
    """Drafted trees and their target distributions in float32.

    Args:
        law: sampling scheme.
        seed: of models and draws.
    """
    for plan, kind in PLANS[law]:
        rng = np.random.default_rng([seed, plan.vocabulary])
        generator = torch.Generator().manual_seed(seed)
        read_level = partial(_fresh_rows, kind, rng, plan.vocabulary)
        tree = draft_tree(0, StaticGrowth(plan.shape(law)), read_level, generator, torch.device("cpu")).tree
        yield tree, torch.from_numpy(make_rows(kind, rng, (len(tree), plan.vocabulary))[0]).float()


def _fresh_rows(
    kind: str, rng: np.random.Generator, vocabulary: int, tree: TreeBuilder, nodes: Sequence[int]
) -> torch.Tensor:
    return torch.from_numpy(make_rows(kind, rng, (len(nodes), vocabulary))[1]).float()


def count_verdicts(
    tree: DraftTree, targets: torch.Tensor, expected: torch.Tensor, verify: Verify, rows: int, seed: int
) -> float:
    """p-value of the fit of many verdicts to the outcome distribution.

    Args:
        tree: the tree.
        targets: its target distributions `[N, V]`.
        expected: its outcome distribution `[N, V]`.
        verify: verification of many trees.
        rows: how many verdicts.
        seed: of the uniforms.
    """
    size, vocabulary = targets.shape
    generator = torch.Generator().manual_seed(seed)
    counts = np.zeros(size * vocabulary, dtype=np.int64)
    batch = max(1, min(rows, BATCH_ENTRIES // (size * vocabulary)))
    forest, rows_of_forest = repeated(tree, batch), targets.repeat(batch, 1)
    for start in range(0, rows, batch):
        uniforms = torch.rand(batch * size, generator=generator, dtype=torch.float64)
        last = torch.rand(batch, generator=generator, dtype=torch.float64)
        ends, tokens = verify(forest, rows_of_forest, uniforms, last)
        outcomes = (ends % size * vocabulary + tokens)[: rows - start]
        counts += np.bincount(outcomes.numpy(), minlength=len(counts))
    return fit_p_value(counts, expected.double().numpy().reshape(-1))
