"""One draft pass for several texts: each is drafted as if it were alone, in fewer passes."""

import pytest
import torch

from drafting.eagle.pairs import random_draft
from engine.families import near_copy, tiny
from univer.drafting.combined import CombinedDraft
from univer.drafting.lookup import LookupSource
from univer.engine import Engine, generate
from univer.engine.drafts import as_draft
from univer.runtime.batch import TreeBatch
from univer.runtime.runner import NodeInput, TreeRunner

PROMPTS = [[3, 14, 15, 9, 26, 5, 35, 8, 9], [7, 9], [21, 22, 23, 24, 25]]
OPTIONS = [
    {"tree": "2x3", "seed": 1, "max_new_tokens": 17},
    {"tree": "chain-4", "seed": 2, "max_new_tokens": 9, "temperature": 0, "repetition_penalty": 1.3},
    {"tree": "grow:nodes=9,depth=3", "seed": 3, "max_new_tokens": 12, "temperature": 0.7, "top_k": 9},
]
DRAFTS = {
    "model": lambda: near_copy("llama", 0.2),
    "first=1": lambda: "first=1",
    "head": lambda: random_draft("llama", 3, False),
    "reduced head": lambda: random_draft("llama", 1, True),
    "head with guesses": lambda: CombinedDraft(random_draft("llama", 3, False), [LookupSource()]),
}


def alone(target, draft, row):
    return generate(target, draft, [PROMPTS[row]], eos_token_id=None, **OPTIONS[row])


def finish(engine):
    rows = [engine.add(prompt, eos_token_id=None, **own) for prompt, own in zip(PROMPTS, OPTIONS, strict=True)]
    while engine.busy:
        engine.step()
    return rows


@pytest.mark.parametrize("kind", DRAFTS)
def test_fault_18_texts_that_are_drafted_together_are_those_of_each_alone(kind):
    target = tiny("llama")
    draft = as_draft(DRAFTS[kind](), target)
    rows = finish(Engine(target, draft))
    for number, row in enumerate(rows):
        expected = alone(target, draft, number)
        assert row.committed == expected.texts[0]
        assert row.stats.draft_passes == expected.stats.draft_passes
        assert [own.drafted for own in row.stats.rounds] == [own.drafted for own in expected.stats.rounds]


@pytest.mark.parametrize("kind", ["model", "head"])
def test_a_level_of_all_texts_is_one_pass(kind):
    target = tiny("llama")
    draft = as_draft(DRAFTS[kind](), target)
    passes = []
    model = draft.head.qkv if kind == "head" else draft.model
    hook = model.register_forward_hook(lambda *_: passes.append(1))
    engine = Engine(target, draft)
    rows = [engine.add(prompt, tree="chain-4", max_new_tokens=16, seed=0, eos_token_id=None) for prompt in PROMPTS]
    engine.step()
    while all(not row.ended for row in rows):
        before = len(passes), [row.stats.draft_passes for row in rows]
        started = [len(row.stats.rounds) for row in rows]
        engine.step()
        if min(started):
            # The committed tokens of the last round, and three levels below the root.
            assert len(passes) - before[0] <= 4
            assert max(row.stats.draft_passes - own for row, own in zip(rows, before[1], strict=True)) <= 4
    hook.remove()
    assert sum(row.stats.draft_passes for row in rows) > 2 * len(passes)


def test_texts_leave_the_cache_of_the_draft_with_the_engine():
    target = tiny("llama")
    draft = as_draft(near_copy("llama", 0.2), target)
    engine = Engine(target, draft)
    rows = [engine.add(prompt, eos_token_id=None, **own) for prompt, own in zip(PROMPTS, OPTIONS, strict=True)]
    engine.step()
    [batch] = {id(row.session.runner.batch): row.session.runner.batch for row in rows}.values()
    assert len(batch.texts) == 3
    engine.cancel(rows[0])
    assert len(batch.texts) == 2
    while engine.busy:
        engine.step()
    assert batch.texts == []
    assert [row.committed for row in rows[1:]] == [alone(target, draft, number).texts[0] for number in (1, 2)]


@pytest.mark.parametrize("kind", ["model", "head"])
def test_a_draft_pass_that_fails_ends_its_texts_and_the_next_ones_work(kind):
    target = tiny("llama")
    draft = as_draft(DRAFTS[kind](), target)

    def fail(*_):
        raise RuntimeError("no memory")

    engine = Engine(target, draft)
    rows = [engine.add(prompt, eos_token_id=None, **own) for prompt, own in zip(PROMPTS, OPTIONS, strict=True)]
    plain = engine.add([5, 6], tree="chain-4", max_new_tokens=2, temperature=0, eos_token_id=None)
    engine.step()
    hook = (draft.head.qkv if kind == "head" else draft.model).register_forward_pre_hook(fail)
    engine.step()
    hook.remove()
    assert all(isinstance(row.error, RuntimeError) for row in rows)
    # It had no room for a level, so that nothing was drafted for it.
    assert plain.error is None
    assert len(plain.committed) == 4
    assert not engine.busy
    again = engine.add(PROMPTS[2], eos_token_id=None, **OPTIONS[2])
    while engine.busy:
        engine.step()
    assert again.committed == alone(target, draft, 2).texts[0]


def test_an_exception_between_two_levels_ends_its_own_text_only():
    target, draft = tiny("llama"), near_copy("llama", 0.2)

    def failing(input_ids, scores):
        if input_ids.shape[1] > len(PROMPTS[0]) + 2:
            raise KeyError("no such state")
        return scores

    engine = Engine(target, draft)
    bad = engine.add(PROMPTS[0], eos_token_id=None, logits_processor=failing, **OPTIONS[0])
    good = engine.add(PROMPTS[2], eos_token_id=None, **OPTIONS[2])
    while engine.busy:
        engine.step()
    assert isinstance(bad.error, KeyError)
    assert good.error is None
    assert good.committed == alone(target, draft, 2).texts[0]


def test_a_pass_may_leave_out_texts_that_have_nothing_to_read():
    """Rows between others, with and without pending nodes, see nothing of what the pass writes."""
    model = tiny("gpt2")
    with torch.inference_mode():
        batch = TreeBatch(model)
        runners = [TreeRunner(model, batch=batch) for _ in range(4)]
        single = [TreeRunner(model) for _ in range(4)]
        for number, prompt in enumerate([PROMPTS[0], PROMPTS[1], PROMPTS[2]]):
            for own in (runners[number], single[number]):
                own.extend(prompt)
        # The fourth text is empty so far.
        first = [(0, [7, 11], [-1, -1]), (2, [5, 6, 8], [-1, 0, 0])]
        second = [(0, [12], [1]), (1, [4, 4], [-1, -1]), (2, [9, 3], [1, 2])]
        for level in (first, second):
            readings = [NodeInput(runners[number], tokens, parents) for number, tokens, parents in level]
            together = readings[0].run_with(readings[1:])
            for (number, tokens, parents), logits in zip(level, together, strict=True):
                expected = single[number].read_nodes(tokens, parents)
                torch.testing.assert_close(logits, expected, atol=1e-5, rtol=0)
        assert [own.passes for own in runners] == [3, 2, 3, 0]
        # The empty text takes the number of the first, and is read there beside one that goes on.
        runners[0].leave()
        assert [own.row for own in runners[1:]] == [1, 2, 0]
        runners[2].keep([0, 1, 3])
        single[2].keep([0, 1, 3])
        readings = [NodeInput(runners[3], [9], [-1]), NodeInput(runners[2], [4], [-1])]
        for logits, own in zip(readings[0].run_with(readings[1:]), (single[3], single[2]), strict=True):
            expected = own.read_nodes(*([[9], [-1]] if own is single[3] else [[4], [-1]]))
            torch.testing.assert_close(logits, expected, atol=1e-5, rtol=0)
