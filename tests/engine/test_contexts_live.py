"""Contexts are what live rounds see: the same tree and the same laws at the same place of the same text."""

from itertools import accumulate
from typing import Any

import pytest
import torch

from drafting.eagle.pairs import random_draft
from engine.families import near_copy, tiny
from univer.bench.measure import evaluate
from univer.bench.rows import rows_for
from univer.drafting.independent import IndependentDraft
from univer.engine import generate
from univer.engine.contexts import ContextSettings, SampledText, drafted_trees
from univer.engine.verification import SamplingVerifier
from univer.tree import DraftTree
from univer.verdict import end_distribution

DRAFTS = {
    "model": lambda: IndependentDraft(near_copy("llama")),
    "eagle": lambda: random_draft("llama", 1, reduced=False),
    "eagle3 with a vocabulary of its own": lambda: random_draft("llama", 3, reduced=True),
}
PROMPTS = torch.tensor([[3, 14, 15, 9, 26, 5]]).expand(3, -1)


@pytest.mark.parametrize("name", DRAFTS)
@torch.no_grad()
def test_a_round_and_its_context_are_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children of membership's law are fixed: the tree depends on the text alone, and can be compared node by node."""
    seen: dict[int, list[tuple[DraftTree, torch.Tensor]]] = {}
    decide = SamplingVerifier.__call__

    def watched(self: SamplingVerifier, tree: DraftTree, logits: torch.Tensor, clock: Any, step: str) -> Any:
        seen.setdefault(id(self), []).append((tree, self.sampling.distributions(logits, step)))
        return decide(self, tree, logits, clock, step)

    monkeypatch.setattr(SamplingVerifier, "__call__", watched)
    draft = DRAFTS[name]()
    [row] = rows_for(["2x3"], ["membership"])
    result = generate(
        tiny("llama"), draft, PROMPTS, method="membership", tree="2x3", max_new_tokens=24, eos_token_id=None, seed=0
    )
    rounds = 0
    for text, figures, own in zip(result.texts, result.figures, seen.values(), strict=True):
        starts = accumulate((entry.emitted for entry in figures.rounds), initial=PROMPTS.shape[1] + 1)
        whole = [start for start, round_ in zip(starts, figures.rounds, strict=False) if not round_.cut]
        found = drafted_trees(
            tiny("llama"),
            draft,
            SampledText(tuple(text), tuple(whole)),
            [row.growth],
            ContextSettings(drafted=1),
            seed=1,
            leaves=True,
        )
        # The first decision is that after the prefill, on the root alone.
        for context, (tree, laws) in zip(found, own[1:], strict=False):
            assert context.tree.tokens.tolist() == tree.tokens.tolist()
            torch.testing.assert_close(context.target, laws, atol=1e-5, rtol=1e-4)
            depths = torch.from_numpy(tree.topology.depths)
            expected = 1 + float(end_distribution(tree, laws, "membership") @ depths.float())
            assert evaluate(context, row).tau == pytest.approx(expected, abs=1e-4)
            rounds += 1
    assert rounds > 3 * 24 / 4 - 6
