"""Texts that come and go in one engine: each is as if it were alone."""

import pytest
import torch

from engine.families import FAMILIES, greedy_reference, near_copy, tiny
from univer.engine import Engine, generate

PROMPTS = [[3, 14, 15, 9, 26, 5, 35, 8, 9], [7], [21, 22, 23, 24, 25]]
OPTIONS = [
    {"tree": "2x3", "seed": 1, "max_new_tokens": 17},
    {"tree": "chain-4", "seed": 2, "max_new_tokens": 9, "temperature": 0},
    {"tree": "grow:nodes=9,depth=3", "seed": 3, "max_new_tokens": 12, "temperature": 0.7, "top_k": 9},
]


def alone(target, draft, row):
    result = generate(target, draft, torch.tensor([PROMPTS[row]]), eos_token_id=None, **OPTIONS[row])
    return result.sequences[0].tolist()


def finish(engine):
    for _ in range(100):
        if not engine.busy:
            return
        engine.step()
    raise AssertionError("the engine does not end")


@pytest.mark.parametrize("draft", ["model", "lookup", "first=1", None])
@pytest.mark.parametrize("family", FAMILIES)
def test_fault_18_rows_of_different_lengths_trees_and_settings(family, draft):
    target, draft = tiny(family), near_copy(family, 0.2) if draft == "model" else draft
    engine = Engine(target, draft)
    rows = [engine.add(prompt, eos_token_id=None, **own) for prompt, own in zip(PROMPTS, OPTIONS, strict=True)]
    finish(engine)
    for number, row in enumerate(rows):
        assert row.committed == alone(target, draft, number)
        assert row.stats.stopped_by == "length"
    assert engine.batch.texts == []


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_fault_29_rows_join_between_rounds_in_any_order(order):
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    engine, rows = Engine(target, draft), {}
    for number in order:
        rows[number] = engine.add(PROMPTS[number], eos_token_id=None, **OPTIONS[number])
        for _ in range(2):
            engine.step()
    finish(engine)
    assert {number: row.committed for number, row in rows.items()} == {n: alone(target, draft, n) for n in order}


def test_a_step_says_what_each_row_committed():
    engine = Engine(tiny("llama"), near_copy("llama", 0.2))
    rows = [engine.add(prompt, eos_token_id=None, **own) for prompt, own in zip(PROMPTS, OPTIONS, strict=True)]
    texts = {id(row): list(prompt) for row, prompt in zip(rows, PROMPTS, strict=True)}
    while engine.busy:
        for row, step in engine.step():
            texts[id(row)] += step.tokens
    assert [texts[id(row)] for row in rows] == [row.committed for row in rows]


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_cancelled_row_keeps_its_text_and_its_neighbours_go_on(after):
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    engine = Engine(target, draft)
    rows = [engine.add(prompt, eos_token_id=None, **own) for prompt, own in zip(PROMPTS, OPTIONS, strict=True)]
    for _ in range(after):
        engine.step()
    engine.cancel(rows[0])
    text = list(rows[0].committed)
    finish(engine)
    assert rows[0].committed == text == alone(target, draft, 0)[: len(text)]
    assert rows[0].stats.stopped_by == "cancelled"
    assert [row.committed for row in rows[1:]] == [alone(target, draft, 1), alone(target, draft, 2)]
    engine.cancel(rows[1])
    assert rows[1].stats.stopped_by == "length"


def test_a_failing_streamer_ends_its_own_row_only():
    class Failing:
        def __init__(self):
            self.puts = 0

        def put(self, value):
            self.puts += 1
            if self.puts == 4:
                raise OSError("closed")

        def end(self):
            raise AssertionError("the text did not end")

    target, draft = tiny("llama"), near_copy("llama", 0.2)
    engine = Engine(target, draft)
    failing = engine.add(PROMPTS[0], eos_token_id=None, streamer=Failing(), **OPTIONS[0])
    other = engine.add(PROMPTS[2], eos_token_id=None, **OPTIONS[2])
    finish(engine)
    assert isinstance(failing.error, OSError)
    assert other.error is None
    assert other.committed == alone(target, draft, 2)


def test_a_failing_target_pass_ends_the_rows_of_the_pass_and_the_next_ones_work(monkeypatch):
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    engine = Engine(target, draft)
    row = engine.add(PROMPTS[0], eos_token_id=None, **OPTIONS[0])
    engine.step()
    with monkeypatch.context() as patched:
        patched.setattr(engine.batch, "_forward", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("no memory")))
        with pytest.raises(RuntimeError, match="no memory"):
            engine.step()
    assert row.ended
    assert not engine.busy
    after = engine.add(PROMPTS[2], eos_token_id=None, **OPTIONS[2])
    finish(engine)
    assert after.committed == alone(target, draft, 2)


def test_a_failing_prefill_ends_its_own_row_only(monkeypatch):
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    engine = Engine(target, draft)
    rows = [engine.add(prompt, eos_token_id=None, **own) for prompt, own in zip(PROMPTS, OPTIONS, strict=True)]
    extend = engine.batch.extend

    def fail_once(number, tokens):
        if tokens == PROMPTS[1]:
            raise RuntimeError("no memory")
        return extend(number, tokens)

    with monkeypatch.context() as patched:
        patched.setattr(engine.batch, "extend", fail_once)
        with pytest.raises(RuntimeError, match="no memory"):
            engine.step()
    assert [row.ended for row in rows] == [False, True, False]
    finish(engine)
    assert [rows[number].committed for number in (0, 2)] == [alone(target, draft, 0), alone(target, draft, 2)]
    assert rows[1].committed == PROMPTS[1]


def test_a_request_that_is_refused_adds_nothing():
    engine = Engine(tiny("llama"), None)
    with pytest.raises(ValueError, match="repetition_penalty"):
        engine.add(PROMPTS[0], encoder_repetition_penalty=1.3, repetition_penalty=1.3)
    assert not engine.busy
    with pytest.raises(ValueError, match="forced_eos_token_id"):
        engine.add(PROMPTS[0], forced_eos_token_id=9999)
    assert engine.add(PROMPTS[0], max_new_tokens=0).ended


@pytest.mark.parametrize("tree", ["2x4", "grow:nodes=20,depth=4", "eagle2:nodes=20,depth=3"])
def test_throughput_mode_shares_a_node_budget_and_keeps_greedy_texts(tree):
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    engine, passes = Engine(target, draft, nodes=12), []
    read = engine.batch.read_nodes
    engine.batch.read_nodes = lambda tokens, parents: (
        passes.append([len(own) for own in tokens]) or read(tokens, parents)
    )
    options = {"tree": tree, "temperature": 0, "max_new_tokens": 14, "eos_token_id": None}
    rows = [engine.add(prompt, **options) for prompt in PROMPTS]
    finish(engine)
    assert max(map(sum, passes)) <= 12
    assert max(counts[0] for counts in passes if len(counts) == 3) > 1
    for row, prompt in zip(rows, PROMPTS, strict=True):
        expected = generate(target, None, torch.tensor([prompt]), temperature=0, max_new_tokens=14, eos_token_id=None)
        assert row.committed == expected.sequences[0].tolist()


@pytest.mark.parametrize(("nodes", "drafted"), [(None, (9, 1)), (12, (9, 1)), (11, (4, 1)), (1, (0, 0))])
def test_a_node_budget_limits_trees_only_where_they_could_exceed_it(nodes, drafted):
    engine = Engine(tiny("llama"), near_copy("llama", 0.2), nodes=nodes)
    options = {"max_new_tokens": 14, "temperature": 0, "eos_token_id": None}
    rows = [engine.add(PROMPTS[0], tree=tree, **options) for tree in ("chain-9", "chain-1")]
    engine.step()
    engine.step()
    assert tuple(row.stats.rounds[0].drafted for row in rows) == drafted


@pytest.mark.parametrize("side", ["left", "right"])
def test_fault_18_padded_batches(side):
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    width = max(map(len, PROMPTS))
    gaps = [[0] * (width - len(prompt)) for prompt in PROMPTS]
    ones = [[1] * len(prompt) for prompt in PROMPTS]
    both = [
        (gap + own, gap + one) if side == "left" else (own + gap, one + gap)
        for own, gap, one in zip(PROMPTS, gaps, ones, strict=True)
    ]
    ids, mask = (torch.tensor([pair[place] for pair in both]) for place in (0, 1))
    seeds = [5, 6, 7]
    options = {"max_new_tokens": 11, "tree": "2x3", "eos_token_id": None}
    result = generate(target, draft, ids, attention_mask=mask, seed=seeds, **options)
    for text, prompt, seed in zip(result.texts, PROMPTS, seeds, strict=True):
        single = generate(target, draft, torch.tensor([prompt]), seed=seed, **options)
        assert text == single.sequences[0].tolist()
    assert result.sequences.shape == (3, width + 11)
    assert result.stats.new_tokens == 33 == sum(own.new_tokens for own in result.figures)
    with pytest.raises(ValueError, match="2 seeds for 3 texts"):
        generate(target, draft, ids, attention_mask=mask, seed=[1, 2], **options)


def test_one_seed_serves_a_batch_and_its_rows_differ():
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    options = {"max_new_tokens": 12, "tree": "2x3", "eos_token_id": None}
    ids = torch.tensor([PROMPTS[0]] * 3)
    first, second = (generate(target, draft, ids, seed=4, **options) for _ in range(2))
    assert first.texts == second.texts
    assert len(set(map(tuple, first.texts))) == 3
    assert first.texts[0] == generate(target, draft, ids[:1], seed=4, **options).texts[0]


class Calling:
    """A streamer that does something with its third piece."""

    def __init__(self, act):
        self.act, self.puts = act, 0

    def put(self, value):
        self.puts += 1
        if self.puts == 3:
            self.act()

    def end(self):
        pass


@pytest.mark.parametrize("whose", [0, 1])
def test_a_row_is_cancelled_from_within_a_step(whose):
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    engine, rows = Engine(target, draft), []
    streamer = Calling(lambda: engine.cancel(rows[whose]))
    rows.append(engine.add(PROMPTS[0], eos_token_id=None, streamer=streamer, **OPTIONS[0]))
    rows.append(engine.add(PROMPTS[2], eos_token_id=None, **OPTIONS[2]))
    finish(engine)
    other = 1 - whose
    assert rows[whose].stats.stopped_by == "cancelled"
    assert rows[other].committed == alone(target, draft, 2 if other else 0)
    assert rows[0].error is None


def test_a_step_within_a_step_is_refused():
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    engine = Engine(target, draft)
    row = engine.add(PROMPTS[0], eos_token_id=None, streamer=Calling(lambda: engine.step()), **OPTIONS[0])
    other = engine.add(PROMPTS[2], eos_token_id=None, **OPTIONS[2])
    finish(engine)
    assert isinstance(row.error, RuntimeError)
    assert other.committed == alone(target, draft, 2)


def test_rows_of_other_engines_and_budgets_that_are_none_are_refused():
    first, second = Engine(tiny("llama")), Engine(tiny("llama"))
    with pytest.raises(ValueError, match="not one of this engine"):
        second.cancel(first.add([5, 6], max_new_tokens=3))
    for nodes in (0, 1.5, True, "a"):
        with pytest.raises(ValueError, match="nodes must be a whole number"):
            Engine(tiny("llama"), nodes=nodes)


class Refusing:
    """A streamer that takes nothing."""

    def put(self, value):
        raise OSError("closed")

    def end(self):
        raise AssertionError("the text did not end")


@pytest.mark.parametrize("first", [1, 2])
def test_a_row_that_leaves_unread_beside_one_that_ends_leaves_the_engine_whole(first):
    target = tiny("llama")
    engine = Engine(target, "lookup")
    options = {"temperature": 0, "eos_token_id": None, "tree": "chain-2"}
    ending = [engine.add([5, token], max_new_tokens=2, **options) for token in range(7, 7 + first)]
    engine.step()
    unread = engine.add([6, 7], max_new_tokens=3, streamer=Refusing(), **options)
    engine.step()
    assert isinstance(unread.error, OSError)
    assert all(row.stats.stopped_by == "length" for row in ending)
    assert not engine.busy
    assert engine.batch.texts == engine.rows == []
    after = engine.add(PROMPTS[2], max_new_tokens=5, **options)
    finish(engine)
    assert after.committed == greedy_reference(target, PROMPTS[2], 5)


class Counting(Calling):
    """Counts its ends, after which it takes nothing."""

    ends = 0

    def put(self, value):
        assert not self.ends
        super().put(value)

    def end(self):
        self.ends += 1


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_cancelled_row_tells_its_streamer_that_the_text_has_ended(after):
    engine, streamer = Engine(tiny("llama"), near_copy("llama", 0.2)), Counting(lambda: None)
    row = engine.add(PROMPTS[0], streamer=streamer, max_new_tokens=20, eos_token_id=None)
    for _ in range(after):
        engine.step()
    engine.cancel(row)
    engine.cancel(row)
    assert streamer.ends == 1
    assert not engine.busy


@pytest.mark.parametrize("whose", [0, 1])
def test_a_row_that_is_cancelled_by_a_streamer_tells_its_own_once(whose):
    engine, rows = Engine(tiny("llama"), near_copy("llama", 0.2)), []
    streamers = [Counting(lambda: engine.cancel(rows[whose])), Counting(lambda: None)]
    options = {"max_new_tokens": 20, "eos_token_id": None}
    rows += [engine.add(PROMPTS[0], streamer=streamer, **options) for streamer in streamers]
    finish(engine)
    assert [row.error for row in rows] == [None, None]
    assert [streamer.ends for streamer in streamers] == [1, 1]
    assert rows[whose].stats.stopped_by == "cancelled"


def test_a_streamer_that_fails_when_its_row_is_cancelled_leaves_the_others_alone():
    engine = Engine(tiny("llama"))
    row = engine.add(PROMPTS[0], streamer=Refusing(), max_new_tokens=4, eos_token_id=None)
    other = engine.add(PROMPTS[1], max_new_tokens=4, eos_token_id=None)
    engine.cancel(row)
    assert isinstance(row.error, AssertionError)
    finish(engine)
    assert len(other.committed) == 5
