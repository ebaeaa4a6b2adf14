"""A head that knows its target's text by heart is accepted almost always."""

from functools import cache
from typing import Any

import pytest
import torch

from drafting.eagle.checkpoints import INNER
from engine.families import VOCABULARY, greedy_reference, tiny
from univer.drafting.eagle.config import config_for_target
from univer.drafting.eagle.draft import EagleDraft
from univer.drafting.eagle.head import EagleHead
from univer.engine import generate
from univer.training.unroll import drafted

PROMPT = [5, 9, 3, 17]
NEW, STEPS = 32, 4


@cache
def overfitted(family: str, variant: int) -> tuple[EagleDraft, Any, list[int]]:
    """A head trained to repeat the one text that its target decodes greedily."""
    target = tiny(family)
    text = greedy_reference(target, PROMPT, NEW)
    tokens = sorted(set(text))
    size = VOCABULARY if variant == 1 else len(tokens)
    config = config_for_target(target, variant, size, intermediate_size=2 * INNER)
    ids = torch.tensor([text])
    with torch.no_grad():
        states = target(ids, output_hidden_states=True).hidden_states
        features = torch.cat([states[layer] for layer in config.features], -1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        head = EagleHead(config)
    if config.reduced:
        head.set_vocabulary(tokens)
    draft = EagleDraft(head, target)
    wanted = torch.tensor([tokens.index(token) for token in text] if config.reduced else text)
    optimiser = torch.optim.Adam(head.parameters(), 1e-2)
    for _ in range(120):
        loss = torch.zeros(())
        for step, hidden in enumerate(drafted(head, draft.table.detach(), ids, features, STEPS)):
            last = len(text) - 2 - step
            loss = loss + torch.nn.functional.cross_entropy(
                head.logits(hidden[0, :last], draft.output), wanted[2 + step :]
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    head.eval().requires_grad_(False)
    return EagleDraft(head, target), target, text


@pytest.mark.parametrize("family", ["llama", "qwen2"])
@pytest.mark.parametrize("variant", [1, 3])
@pytest.mark.parametrize(("tree", "method"), [("chain-4", "block"), ("2x4", "univer")])
def test_acceptance_is_near_one(family: str, variant: int, tree: str, method: str) -> None:
    draft, target, text = overfitted(family, variant)
    result = generate(
        target,
        draft,
        torch.tensor([PROMPT]),
        tree=tree,
        method=method,
        temperature=0,
        max_new_tokens=NEW,
        eos_token_id=None,
    )
    assert result.sequences[0].tolist() == text
    assert result.stats.tau > 4.7


def test_acceptance_of_sampled_children_is_near_one() -> None:
    """At a temperature with target distributions close to point masses the text is the same, and so is tau."""
    draft, target, text = overfitted("llama", 3)
    result = generate(
        target,
        draft,
        torch.tensor([PROMPT]),
        tree="chain-4",
        method="block",
        temperature=0.001,
        max_new_tokens=NEW,
        eos_token_id=None,
        seed=0,
    )
    assert result.sequences[0].tolist() == text
    assert result.stats.tau > 4.7
