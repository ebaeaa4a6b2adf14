"""Where a text ends."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from engine.fakes import OracleDraft
from engine.families import CONTEXT, greedy_reference, near_copy, tiny
from univer.engine import generate, generate_rounds, plain
from univer.engine.stopping import StopRule, eos_tokens, length_limit

PROMPT = [3, 14, 15, 9, 26, 5]


def reference():
    return greedy_reference(tiny("llama"), PROMPT, 20)


def run(draft, prompt=PROMPT, **options):
    options = {"temperature": 0, "tree": "chain-6"} | options
    return generate(tiny("llama"), draft, torch.tensor([prompt]), **options)


def first_new(text, count):
    """Position of the first new token that did not occur earlier among the new ones, from the `count`-th on."""
    start = len(PROMPT)
    return next(i for i in range(start + count, len(text)) if text[i] not in text[start:i])


@pytest.mark.parametrize("several", [False, True])
def test_fault_11_eos_inside_the_accepted_path(several):
    text = reference()
    place = first_new(text, 2)
    eos = [text[place], 60] if several else text[place]
    for draft in (OracleDraft(text), near_copy("llama"), "lookup", None):
        result = run(draft, eos_token_id=eos, max_new_tokens=20)
        assert result.sequences[0].tolist() == text[: place + 1]
        assert result.sequences[0].tolist() == greedy_reference(tiny("llama"), PROMPT, 20, eos)
        assert result.stats.new_tokens == place + 1 - len(PROMPT)
        assert result.stats.stopped_by == "eos"
        assert result.stats.rounds[-1].stopped_by == "eos"
        assert sum(entry.emitted for entry in result.stats.rounds) + 1 == result.stats.new_tokens


def test_fault_11_the_earlier_of_two_eos_tokens_wins():
    text = reference()
    late, early = first_new(text, 4), first_new(text, 1)
    assert early < late
    result = run(OracleDraft(text), eos_token_id=[text[late], text[early]], max_new_tokens=20)
    assert result.sequences[0].tolist() == text[: early + 1]


def test_fault_11_eos_inside_the_prompt_does_not_stop():
    text = reference()
    eos = next(token for token in PROMPT if token not in text[len(PROMPT) :])
    assert run(OracleDraft(text), eos_token_id=eos, max_new_tokens=20).sequences[0].tolist() == text


def test_fault_11_no_eos_runs_to_the_length_limit():
    result = run(OracleDraft(reference()), eos_token_id=None, max_new_tokens=20)
    assert result.sequences[0].tolist() == reference()
    assert result.stats.stopped_by == "length"


def test_eos_as_first_token_ends_after_the_prefill():
    text = reference()
    result = run(near_copy("llama"), eos_token_id=text[len(PROMPT)], max_new_tokens=20)
    assert result.sequences[0].tolist() == text[: len(PROMPT) + 1]
    assert result.stats.rounds == []
    assert result.stats.tau is None
    assert result.stats.draft_passes == 0


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 20])
def test_fault_12_max_new_tokens_exceeded(count):
    text = reference()
    for draft in (OracleDraft(text), tiny("llama"), near_copy("llama"), None):
        result = run(draft, eos_token_id=None, max_new_tokens=count)
        assert result.sequences[0].tolist() == text[: len(PROMPT) + count]
    assert run(OracleDraft(text), eos_token_id=None, max_length=len(PROMPT) + count).stats.new_tokens == count


def test_fault_12_no_draft_pass_for_the_last_token():
    draft = OracleDraft(reference(), [0])
    run(draft, eos_token_id=None, max_new_tokens=3)
    assert len(draft.asked) == 1
    stats = run(near_copy("llama"), eos_token_id=None, max_new_tokens=1).stats
    assert (stats.draft_passes, stats.target_passes) == (0, 1)


def test_fault_12_nothing_to_generate_returns_the_prompt():
    for result in (
        run(near_copy("llama"), max_new_tokens=0),
        run(near_copy("llama"), max_length=len(PROMPT)),
        plain(tiny("llama"), torch.tensor([PROMPT]), max_new_tokens=0),
    ):
        assert result.sequences.tolist() == [PROMPT]
        assert result.stats.target_passes == 0


def test_trees_are_no_deeper_than_the_text_may_grow():
    generation = generate_rounds(
        tiny("llama"),
        tiny("llama"),
        torch.tensor([PROMPT]),
        temperature=0,
        tree="chain-6",
        max_new_tokens=10,
        eos_token_id=None,
    )
    steps = list(generation)
    assert [len(step.tokens) for step in steps] == [1, 7, 2]
    assert [step.round.drafted for step in steps[1:]] == [6, 1]
    assert [step.round.cut for step in steps[1:]] == [False, True]


def test_text_up_to_the_last_position_of_the_context():
    prompt = list(range(3, 20))
    new = CONTEXT - len(prompt)
    for family in ("llama", "gpt2"):
        target = tiny(family)
        result = generate(target, near_copy(family), torch.tensor([prompt]), temperature=0, max_length=CONTEXT)
        assert result.stats.stopped_by in ("eos", "length")
        result = generate(
            target, near_copy(family), torch.tensor([prompt]), temperature=0, max_length=CONTEXT, eos_token_id=None
        )
        assert result.sequences[0].tolist() == greedy_reference(target, prompt, new)


def test_texts_that_would_outgrow_the_context_are_refused():
    with pytest.raises(ValueError, match=f"exceed the {CONTEXT} positions of the target"):
        generate(tiny("gpt2"), "lookup", [PROMPT], max_new_tokens=CONTEXT, eos_token_id=None)
    with pytest.raises(ValueError, match=f"the prompt has 97 tokens, which exceed the {CONTEXT} positions"):
        generate(tiny("gpt2"), "lookup", [[5] * (CONTEXT + 1)], max_new_tokens=1)
    with pytest.raises(ValueError, match="below the 6 tokens of the prompt"):
        run(near_copy("llama"), max_length=5)
    with pytest.raises(ValueError, match="must not be negative"):
        run(near_copy("llama"), max_new_tokens=-1)


def test_the_default_length_ends_at_the_context():
    assert length_limit(10, None, None, None) == 138
    assert length_limit(10, None, None, None, 64) == 64
    assert length_limit(10, None, None, SimpleNamespace(max_new_tokens=7), 64) == 17
    assert length_limit(10, None, None, SimpleNamespace(max_new_tokens=None, max_length=30), 64) == 30
    assert length_limit(10, 5, 12, None, 64) == 12
    assert length_limit(10, 5, 40, None, 64) == 15
    assert length_limit(10, 90, None, None, 64) == 100


def test_eos_ids_of_every_kind():
    config = SimpleNamespace(eos_token_id=[4, 5])
    assert eos_tokens("config", config) == {4, 5}
    assert eos_tokens(3, config) == {3}
    assert eos_tokens([1, 2], config) == {1, 2}
    assert eos_tokens(None, config) == set()
    assert eos_tokens("config", None) == set()
    assert eos_tokens(torch.tensor(3), None) == {3}
    assert eos_tokens(torch.tensor([3, 4]), None) == eos_tokens(np.array([3, 4]), None) == {3, 4}
    assert eos_tokens([-1, 3], None) == {3}
    assert eos_tokens(-1, None) == set()


@pytest.mark.parametrize("ids", [[1.5], 1.5, "a", [[2]], [None], True, {"id": 2}])
def test_fault_28_eos_ids_that_are_no_whole_numbers_are_refused(ids):
    with pytest.raises(TypeError, match="eos_token_id must be a token id or a list of them"):
        generate(tiny("llama"), "lookup", PROMPT, eos_token_id=ids)


@pytest.mark.parametrize(
    ("ids", "message"), [(-5, "holds -5"), ([2, -2], "holds -2"), ([2, 9999], "holds 9999, .* 0 to")]
)
def test_fault_28_eos_ids_of_no_token_are_refused(ids, message):
    with pytest.raises(ValueError, match=f"eos_token_id {message}"):
        generate(tiny("llama"), "lookup", PROMPT, eos_token_id=ids)


def test_a_block_is_cut_at_whichever_comes_first():
    rule = StopRule(frozenset({2}), 6)
    before = [7, 7, 7, 7]
    assert rule.cut([5, 6, 2, 7], before) == ([5, 6], "length")
    assert rule.cut([5, 2], before) == ([5, 2], "eos")
    assert rule.cut([5], before) == ([5], None)
    assert rule.cut([5], [7] * 6) == ([], "length")
