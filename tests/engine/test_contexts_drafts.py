"""Trees of the contexts, whatever the draft and the policy, are those of a session that has nothing beside them."""

from collections import Counter
from typing import Any
from zlib import crc32

import pytest
import torch

from drafting.eagle.pairs import random_draft
from engine.families import VOCABULARY, near_copy, tiny
from univer.bench.rows import growths_of, rows_for
from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import DraftRequest
from univer.drafting.combined import CombinedDraft
from univer.drafting.guess_draft import GuessDraft
from univer.drafting.independent import IndependentDraft
from univer.drafting.layers import skip_layers
from univer.drafting.lookup import LookupSource
from univer.drafting.proposals import complete
from univer.engine import Sampling
from univer.engine.contexts import ContextSettings, SampledText, drafted_trees
from univer.runtime.runner import TreeRunner

TEXT = SampledText((5, 9, 30, 8, 5, 9, 30, 12, 5, 9), (4, 6, 9))
TREES = ("2x3", "3x2", "grow:nodes=9,depth=3", "eagle2:nodes=9,depth=3", "opt:nodes=9,depth=3")
DRAFTS = {
    "model": lambda: IndependentDraft(near_copy("llama")),
    "layers": lambda: skip_layers(tiny("llama"), [1]),
    "eagle": lambda: random_draft("llama", 1, reduced=False),
    "eagle3 with a vocabulary of its own": lambda: random_draft("llama", 3, reduced=True),
    "model and guesses": lambda: CombinedDraft(IndependentDraft(near_copy("llama")), [LookupSource()]),
    "head and guesses": lambda: CombinedDraft(random_draft("llama", 3, reduced=True), [AutomatonSource()]),
    "guesses": lambda: GuessDraft([LookupSource(), AutomatonSource()]),
}


def drafted(draft, sampling):
    names = ["membership"] if draft.fixed_only else ["univer", "membership"]
    growths, settings = growths_of(rows_for(TREES, names)), ContextSettings(sampling=sampling)
    found = list(drafted_trees(tiny("llama"), draft, TEXT, growths, settings, seed=3, leaves=True))
    assert len(found) == len(TEXT.places) * 2 * len(growths)
    return found


def alone(draft, place, growth, sampling, seed):
    """The tree of a session that begins at the place and drafts nothing else."""
    runner = TreeRunner(tiny("llama"), draft.features)
    runner.extend(TEXT.tokens[: place - 1])
    policy, law = growth
    generator = torch.Generator()
    session = draft.start(
        DraftRequest(
            VOCABULARY, runner.device, sampling.distributions, generator, True, len(TEXT.tokens) + 3, runner.features
        )
    )
    generator.manual_seed(seed)
    grower = policy.start(law, greedy=sampling.greedy)
    return complete(session.propose(list(TEXT.tokens[:place]), grower.begin(policy.max_depth)))


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("name", DRAFTS)
@torch.no_grad()
def test_every_tree_is_as_if_drafted_alone_and_every_row_the_target_s(name, temperature):
    draft, sampling = DRAFTS[name](), Sampling(temperature)
    seen: Counter[tuple[int, Any]] = Counter()
    nodes = 0
    for context in drafted(draft, sampling):
        seed = crc32(f"3 {context.place} {seen[context.place, context.growth]}".encode())
        seen[context.place, context.growth] += 1
        tree, other = context.tree, alone(draft, context.place, context.growth, sampling, seed)
        assert tree.tokens.tolist() == other.tokens.tolist()
        assert list(tree.parents) == list(other.parents)
        assert list(tree.slots) == list(other.slots)
        for node, row in other.draft_laws.items():
            torch.testing.assert_close(tree.draft_laws[node], row, atol=1e-5, rtol=1e-4)
        nodes += len(tree) - 1
        paths: list[list[int]] = []
        for node, parent in enumerate(tree.parents):
            paths.append([*paths[parent], int(tree.tokens[node])] if node else list(TEXT.tokens[: context.place]))
            logits = tiny("llama")(input_ids=torch.tensor([paths[node]])).logits[0, -1]
            torch.testing.assert_close(
                context.target[node], sampling.distributions(logits[None], "here")[0], atol=1e-5, rtol=1e-4
            )
    assert nodes > len(TEXT.places) * 2 * len(TREES)
