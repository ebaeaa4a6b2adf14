"""Calls under autocast, and compiled models."""

import copy

import pytest
import torch

from drafting.eagle.pairs import random_draft
from engine.families import greedy_reference, near_copy, tiny
from univer.drafting.eagle.draft import EagleDraft
from univer.engine import generate
from univer.models.packing import pack

PROMPT = [3, 14, 15, 9, 26, 5]
NEW = 12


def packed_head(target, variant):
    return EagleDraft(pack(copy.deepcopy(random_draft("llama", variant, reduced=False).head)), target)


@pytest.mark.parametrize("kind", ["eagle", "eagle3", "model", "lookup"])
def test_found_11_packed_models_and_heads_under_autocast(kind):
    target = pack(copy.deepcopy(tiny("llama")))
    drafts = {"model": lambda: pack(near_copy("llama", 0.2)), "lookup": lambda: "lookup"}
    drafts |= {"eagle": lambda: packed_head(target, 1), "eagle3": lambda: packed_head(target, 3)}
    draft, options = drafts[kind](), {"temperature": 0, "max_new_tokens": NEW, "eos_token_id": None}
    plain = generate(target, draft, [PROMPT], **options).texts[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = generate(target, draft, [PROMPT], **options)
        sampled = generate(target, draft, [PROMPT], **options | {"temperature": 1.0}, seed=0)
    assert result.stats.new_tokens == sampled.stats.new_tokens == NEW
    assert plain == greedy_reference(target, PROMPT, NEW)
    assert result.texts[0][: len(PROMPT) + 1] == plain[: len(PROMPT) + 1]


@pytest.mark.parametrize("variant", [1, 3])
@pytest.mark.parametrize("how", ["compiled", "compiled in place"])
def test_found_12_a_head_on_a_target_that_was_compiled_and_used_before(how, variant):
    torch.compiler.reset()
    model = copy.deepcopy(tiny("llama"))
    if how == "compiled":
        target = torch.compile(model, backend="eager")
    else:
        target = model
        model.compile(backend="eager")
    with torch.inference_mode():
        target(torch.tensor([PROMPT]))
        target(torch.tensor([PROMPT[:3]]))
    head = random_draft("llama", variant, reduced=False).head
    options = {"temperature": 0, "max_new_tokens": NEW, "eos_token_id": None}
    if how == "compiled":
        result = generate(target, EagleDraft(head, target), [PROMPT], **options)
        assert result.texts[0] == greedy_reference(tiny("llama"), PROMPT, NEW)
    else:
        with pytest.raises(ValueError, match="has compiled modules, which may leave out the hooks"):
            generate(target, EagleDraft(head, target), [PROMPT], **options)
