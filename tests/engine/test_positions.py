"""Positions at the edges: the last ones of a table, and rotary scaling that depends on the length."""

import copy

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Phi3Config, Phi3ForCausalLM

from engine.families import CONTEXT, DECODER, FAMILIES, greedy_reference, near_copy, tiny
from univer.engine import Engine, generate
from univer.runtime.checks import context_limit

ORIGINAL = 32
PROMPT = [(7 * index) % 58 + 3 for index in range(ORIGINAL - 4)]


def read_positions(model):
    """A list that a hook fills with the positions of every pass, and the hook."""
    seen = []

    def note(module, args, kwargs):
        seen.extend(kwargs["position_ids"].flatten().tolist())

    return seen, model.register_forward_pre_hook(note, with_kwargs=True)


@pytest.mark.parametrize("tree", ["2x5", "chain-6", "grow:nodes=12,depth=6", "eagle2:nodes=12,depth=6"])
@pytest.mark.parametrize("family", ["gpt2", "opt", "llama", "gemma3"])
def test_fault_13_texts_up_to_the_last_position(family, tree):
    target, draft = tiny(family), near_copy(family, 0.2)
    prompt = [(5 * index) % 58 + 3 for index in range(CONTEXT - 12)]
    (seen, first), (drafted, second) = read_positions(target), read_positions(draft)
    try:
        options = {"temperature": 0, "max_length": CONTEXT, "eos_token_id": None}
        text = generate(target, draft, torch.tensor([prompt]), tree=tree, **options).sequences[0].tolist()
    finally:
        first.remove()
        second.remove()
    assert max(seen + drafted) < CONTEXT
    assert min(seen + drafted) == 0
    assert text == greedy_reference(target, prompt, 12)
    with pytest.raises(ValueError, match=f"exceed the {CONTEXT} positions"):
        generate(target, draft, torch.tensor([prompt]), max_new_tokens=13)


@pytest.mark.parametrize("family", ["gpt2", "opt"])
def test_fault_18_rows_at_the_last_position_beside_short_ones(family):
    target, draft = tiny(family), near_copy(family, 0.2)
    prompts = [[(5 * index) % 58 + 3 for index in range(CONTEXT - 6)], [7, 9]]
    engine = Engine(target, draft)
    seen, hook = read_positions(target)
    rows = [
        engine.add(prompt, tree=tree, temperature=0, max_new_tokens=6, eos_token_id=None)
        for prompt, tree in zip(prompts, ["chain-1", "3x4"], strict=True)
    ]
    while engine.busy:
        engine.step()
    hook.remove()
    assert max(seen) < CONTEXT
    assert [row.committed for row in rows] == [greedy_reference(target, prompt, 6) for prompt in prompts]


def scaled(kind):
    """A model with a context of `ORIGINAL` tokens before its rotary positions are rescaled."""
    rope = {"rope_type": kind, "rope_theta": 10000.0}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if kind == "dynamic":
            size = {"max_position_embeddings": ORIGINAL}
            return LlamaForCausalLM(LlamaConfig(**DECODER | size, rope_parameters=rope | {"factor": 4.0})).eval()
        rope |= {"short_factor": [1.0, 2.0], "long_factor": [4.0, 8.0]}
        config = Phi3Config(**DECODER, original_max_position_embeddings=ORIGINAL, rope_parameters=rope)
        return Phi3ForCausalLM(config).eval()


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_fault_23_rotary_scaling_by_length_is_exact_below_the_switch_and_refused_beyond(kind):
    target = scaled(kind)
    setting = {"dynamic": "max_position", "longrope": "original_max_position"}[kind] + "_embeddings"
    assert context_limit(target) == ORIGINAL
    options = {"temperature": 0, "eos_token_id": None, "tree": "2x6"}
    for draft in ("first=1", target, None):
        result = generate(target, draft, torch.tensor([PROMPT]), max_new_tokens=4, **options)
        assert result.sequences[0].tolist() == greedy_reference(target, PROMPT, 4)
        with pytest.raises(ValueError, match=rf"exceed the {ORIGINAL} positions of the target \({setting}"):
            generate(target, draft, torch.tensor([PROMPT]), max_new_tokens=5, **options)
    with pytest.raises(ValueError, match=rf"target reads at most {ORIGINAL} \({setting}"):
        generate(target, None, torch.tensor([PROMPT + PROMPT]), **options)
    with pytest.raises(ValueError, match=rf"reads at most {ORIGINAL} tokens.*\(the limit is {setting}"):
        generate(tiny("llama"), target, torch.tensor([PROMPT]), max_new_tokens=12, **options)


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_fault_23_a_longer_text_read_before_leaves_no_switch_on(kind):
    target = scaled(kind)
    expected = greedy_reference(target, PROMPT, 4)
    with torch.no_grad():
        target(input_ids=torch.tensor([[5] * (ORIGINAL + 20)]))
    result = generate(target, "first=1", torch.tensor([PROMPT]), max_new_tokens=4, temperature=0, eos_token_id=None)
    assert result.sequences[0].tolist() == expected


def test_fault_23_rotary_scaling_inside_layer_types_is_found():
    model = copy.deepcopy(tiny("gemma3"))
    table = model.config.rope_parameters["full_attention"]
    table |= {"rope_type": "longrope", "original_max_position_embeddings": 24}
    assert context_limit(model) == 24


@pytest.mark.parametrize("rope", [{"rope_type": "linear"}, {"rope_type": "yarn"}])
def test_rotary_scaling_that_does_not_depend_on_the_length(rope):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        rope |= {"factor": 4.0, "rope_theta": 10000.0, "original_max_position_embeddings": ORIGINAL}
        target = LlamaForCausalLM(LlamaConfig(**DECODER, rope_parameters=rope)).eval()
    assert context_limit(target) == CONTEXT
    result = generate(target, "first=2", torch.tensor([PROMPT]), max_new_tokens=16, temperature=0, eos_token_id=None)
    assert result.sequences[0].tolist() == greedy_reference(target, PROMPT, 16)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_limit(family):
    assert context_limit(tiny(family)) == CONTEXT
