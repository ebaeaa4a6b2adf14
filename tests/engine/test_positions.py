"""Positions at the edges: the last ones of a table, and rotary scaling that depends on the length."""

import copy

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Phi3Config, Phi3ForCausalLM

import univer
from engine.fakes import ScriptedDraft
from engine.families import CONTEXT, DECODER, FAMILIES, greedy_reference, near_copy, tiny
from univer import DraftTree
from univer.drafting.combined import CombinedDraft
from univer.drafting.independent import IndependentDraft
from univer.drafting.lookup import LookupSource
from univer.engine import Engine, generate
from univer.runtime.checks import context_limit, position_limit

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
            generate(target, draft, torch.tensor([PROMPT]), max_new_tokens=6, **options)
    with pytest.raises(ValueError, match=rf"prompt has .* exceed the {ORIGINAL} positions of the target \({setting}"):
        generate(target, None, torch.tensor([PROMPT + PROMPT]), **options)


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
    table = (CONTEXT, "max_position_embeddings")
    assert position_limit(tiny(family)) == (table if family in ("gpt2", "opt") else None)


NEAR_THE_END = [(5 * index) % 58 + 3 for index in range(CONTEXT - 4)]
DRAFTS = {
    "model": lambda family: near_copy(family, 0.2),
    "lookup": lambda family: "lookup",
    "none": lambda family: None,
}


def in_both(target, draft, **options):
    """What transformers makes of `NEAR_THE_END`, and what the drop-in does: ids, or the class of the error."""
    found = []
    for call in ({}, {"custom_generate": univer.hf(draft, tree="2x3")}):
        try:
            ids = torch.tensor([NEAR_THE_END])
            found.append(target.generate(ids, do_sample=False, pad_token_id=0, **options, **call).tolist())
        except (IndexError, ValueError) as error:
            found.append(type(error))
    return found


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("family", ["gpt2", "opt", "llama", "gemma3"])
def test_found_06_a_text_goes_as_far_as_in_transformers(family, draft):
    target, draft = tiny(family), DRAFTS[draft](family)
    endless = family in ("llama", "gemma3")
    text = greedy_reference(target, NEAR_THE_END, 12 if endless else 5)
    for eos in {text[-2], text[-1]}:
        theirs, ours = in_both(target, draft, max_new_tokens=40, eos_token_id=eos)
        assert theirs == ours == [text[: text.index(eos, len(NEAR_THE_END)) + 1]]
    # The last token needs no position.
    for new in (5, 6, 12):
        theirs, ours = in_both(target, draft, max_new_tokens=new, eos_token_id=None)
        assert ours == (theirs if endless or new == 5 else ValueError)
        assert (theirs is IndexError) == (ours is ValueError)


@pytest.mark.parametrize("family", ["gpt2", "opt"])
def test_found_06_a_text_that_outgrows_the_table_is_an_error_of_its_row_alone(family):
    target, draft = tiny(family), near_copy(family, 0.2)
    engine = Engine(target, draft)
    # A stop that never comes: what is certain to outgrow the table is refused at once.
    never = {"stopping_criteria": lambda ids, scores: False, "temperature": 0, "eos_token_id": None}
    long = engine.add(NEAR_THE_END, max_new_tokens=40, **never)
    short = engine.add([7, 9], max_new_tokens=12, **never)
    while engine.busy:
        engine.step()
    assert long.committed == greedy_reference(target, NEAR_THE_END, 5)
    assert str(long.error) == (
        f"{CONTEXT - 4} prompt tokens and 6 new ones exceed the {CONTEXT} positions of the target "
        "(max_position_embeddings): ask for at most 5 new tokens"
    )
    assert short.committed == greedy_reference(target, [7, 9], 12)
    with pytest.raises(ValueError, match="and 40 new ones exceed"):
        engine.add(NEAR_THE_END, max_new_tokens=40, eos_token_id=None)


def with_positions(model, count):
    """A copy of a model that has fewer positions."""
    model = copy.deepcopy(model)
    model.config.max_position_embeddings = count
    if hasattr(model, "transformer"):
        model.transformer.wpe = torch.nn.Embedding.from_pretrained(model.transformer.wpe.weight[:count])
    return model


@pytest.mark.parametrize("beside", ["alone", "lookup"])
@pytest.mark.parametrize("tree", ["2x4", "chain-6", "grow:nodes=12,depth=6"])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_found_06_a_draft_is_switched_off_beyond_its_own_positions(family, tree, beside):
    target, draft = tiny(family), with_positions(near_copy(family, 0.2), 24)
    seen, hook = read_positions(draft)
    whole = IndependentDraft(draft) if beside == "alone" else CombinedDraft(IndependentDraft(draft), [LookupSource()])
    prompts = [[3, 14, 15, 9], list(range(20, 50)), list(range(30, 52)), [7]]
    options = {"temperature": 0, "max_new_tokens": 36, "eos_token_id": None, "tree": tree}
    result = generate(target, whole, prompts, **options)
    hook.remove()
    assert result.texts == [greedy_reference(target, prompt, 36) for prompt in prompts]
    assert max(seen) == 23
    first, beyond, between, last = result.figures
    assert min(first.accepted, last.accepted) > 0
    assert [figures.rounds[-2].drafted for figures in result.figures] == [0, 0, 0, 0]
    assert beyond.drafted == 0
    assert between.drafted > 0


class TooDeep(ScriptedDraft):
    """Always proposes a chain of six tokens."""

    def propose(self, committed, growth):
        tokens = [committed[-1], 4, 5, 6, 7, 8, 9]
        return DraftTree(tokens, range(-1, 6), ["root", *["fixed"] * 6], None, "fixed")


@pytest.mark.parametrize("family", ["gpt2", "opt"])
def test_found_08_a_tree_below_the_last_position_ends_its_own_row_by_name(family):
    target = tiny(family)
    engine = Engine(target, TooDeep([]))
    deep, short = (
        engine.add(prompt, temperature=0, max_new_tokens=4, eos_token_id=None) for prompt in (NEAR_THE_END, [7, 9])
    )
    while engine.busy:
        engine.step()
    assert str(deep.error) == (
        f"the draft 'scripted' proposed node 4 at depth 4 below {CONTEXT - 3} tokens, which exceeds the {CONTEXT} "
        "positions of the target (max_position_embeddings)"
    )
    assert short.committed == greedy_reference(target, [7, 9], 4)
