"""Counting decisions on fixed trees over larger vocabularies, against the exact outcome law."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import torch

from univer.audit.cases import DEEP, LEFT, WIDE, Plan
from univer.audit.decision import Decide, repeated
from univer.audit.models import make_rows
from univer.audit.statistics import fit_p_value
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import draft_tree
from univer.drafting.growth.static import StaticGrowth
from univer.tree import DraftTree
from univer.verdict import Verdict

# One verdict on one tree, given `[N + 1]` uniforms.
OneVerdict = Callable[[DraftTree, torch.Tensor, torch.Tensor], Verdict]

ROWS = 200_000
# Over the two trees of a method together.
SHARED_UNIFORMS = 1_000
# Law entries of one batch of trees.
BATCH_ENTRIES = 1 << 21

# Two fixed trees per draft law: one over 50 tokens, and a deeper one over fewer.
PLANS: dict[str, tuple[tuple[Plan, str], ...]] = {
    "chain": ((Plan("chain-2", 50), "smooth"), (Plan("chain-3", 12), "peaked")),
    "iid": ((Plan("2x1", 50), "smooth"), (Plan(LEFT, 12), "peaked")),
    "swor": ((Plan("2x1", 50), "smooth"), (Plan(LEFT, 12), "peaked")),
    "greedy": ((Plan(LEFT, 50), "smooth"), (Plan(WIDE, 12), "peaked")),
    "mixed": ((Plan("3x1", 50, 2), "smooth"), (Plan(WIDE, 12, 2), "peaked")),
    "fixed": ((Plan("3x1", 50), "smooth"), (Plan(DEEP, 12), "peaked")),
}


def fixed_trees(law: str, seed: int) -> Iterator[tuple[DraftTree, torch.Tensor]]:
    """Drafted trees and their target laws in float32, by draft law.

    Args:
        law: draft law.
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


def count_decisions(
    tree: DraftTree, targets: torch.Tensor, expected: torch.Tensor, decide: Decide, rows: int, seed: int
) -> float:
    """p-value of the fit of many decisions to the outcome law.

    Args:
        tree: the tree.
        targets: its target laws `[N, V]`.
        expected: its outcome law `[N, V]`.
        decide: the batched decision.
        rows: how many decisions.
        seed: of the uniforms.
    """
    size, vocabulary = targets.shape
    generator = torch.Generator().manual_seed(seed)
    counts = np.zeros(size * vocabulary, dtype=np.int64)
    batch = max(1, min(rows, BATCH_ENTRIES // (size * vocabulary)))
    forest, laws = repeated(tree, batch), targets.repeat(batch, 1)
    for start in range(0, rows, batch):
        uniforms = torch.rand(batch * size, generator=generator, dtype=torch.float64)
        ends, tokens = decide(forest, laws, uniforms, torch.rand(batch, generator=generator, dtype=torch.float64))
        outcomes = (ends % size * vocabulary + tokens)[: rows - start]
        counts += np.bincount(outcomes.numpy(), minlength=len(counts))
    return fit_p_value(counts, expected.double().numpy().reshape(-1))


def differing_verdicts(
    tree: DraftTree, targets: torch.Tensor, decide: Decide, verify: OneVerdict, rows: int, seed: int
) -> int:
    """On how many rows of shared uniforms one verdict at a time differs from the batched decision.

    Args:
        tree: the tree.
        targets: its target laws `[N, V]`.
        decide: the batched decision.
        verify: one verdict, given `[N + 1]` uniforms.
        rows: number of rows.
        seed: of the uniforms.
    """
    size = len(tree)
    coins = torch.rand(rows, size + 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    ends, tokens = decide(repeated(tree, rows), targets.repeat(rows, 1), coins[:, :-1].reshape(-1), coins[:, -1])
    found = [verify(tree, targets, row) for row in coins]
    pairs = [(verdict.path[-1] if verdict.path else 0, verdict.next_token) for verdict in found]
    return sum(
        pair != other
        for pair, other in zip(pairs, zip((ends % size).tolist(), tokens.tolist(), strict=True), strict=True)
    )
