"""Verification of a round: from the target's logits at every node to the verdict."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from univer.engine.stats import PhaseClock
from univer.engine.warpers import Sampling, greedy_tokens
from univer.methods import Method
from univer.tree import DraftTree
from univer.verdict import Verdict, verify


class Verifier(Protocol):
    """Verifies a round and charges its time to the phases `distributions` and `verification`."""

    def __call__(self, tree: DraftTree, logits: Tensor, clock: PhaseClock, step: str) -> Verdict: ...


class GreedyVerifier:
    """Temperature 0: follow the child that is the target's largest logit, as long as there is one.

    This is membership with point masses, for which every exact method gives the same verdict.
    """

    def __call__(self, tree: DraftTree, logits: Tensor, clock: PhaseClock, step: str) -> Verdict:
        """Verify a round from logits `[N, V]`, one row per node."""
        best = greedy_tokens(logits, step)
        clock.charge("distributions")
        tokens = tree.tokens.tolist()
        child_by_token = {pair: node for node, pair in enumerate(zip(tree.parents, tokens, strict=True))}
        path: list[int] = []
        node = 0
        while (child := child_by_token.get((node, best[node]))) is not None:
            path.append(child)
            node = child
        clock.charge("verification")
        return Verdict(path, [tokens[node] for node in path], best[node])


class SamplingVerifier:
    """Temperature above 0: a verification method on the distributions after all settings of the request.

    Args:
        sampling: the request's settings.
        method: the verification method.
        order: sibling order, or None for the method's own.
        generator: source of the uniforms.
    """

    def __init__(self, sampling: Sampling, method: Method, order: str | None, generator: torch.Generator) -> None:
        self.sampling = sampling
        self.method = method
        self.order = order
        self.generator = generator

    def __call__(self, tree: DraftTree, logits: Tensor, clock: PhaseClock, step: str) -> Verdict:
        """Verify a round from logits `[N, V]`, one row per node."""
        distributions = self.sampling.distributions(logits, step)
        clock.charge("distributions")
        verdict = verify(tree, distributions, self.method, generator=self.generator, order=self.order)
        clock.charge("verification")
        return verdict
