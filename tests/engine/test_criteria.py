"""Stopping criteria of the caller, and the clock."""

import time

import pytest
import torch
from transformers import MaxLengthCriteria, StoppingCriteria, StoppingCriteriaList

from engine.fakes import OracleDraft
from engine.families import greedy_reference, near_copy, tiny
from univer.engine import Engine, generate
from univer.engine.stopping import StopRule

PROMPT = [3, 14, 15, 9, 26, 5]
NEW = 16


def reference(**settings):
    return greedy_reference(tiny("llama"), PROMPT, NEW, **settings)


def run(draft, **options):
    options = {"temperature": 0, "tree": "chain-6", "max_new_tokens": NEW, "eos_token_id": None} | options
    return generate(tiny("llama"), draft, torch.tensor([PROMPT]), **options)


class Watch(StoppingCriteria):
    """Ends a text at a length, and notes what it is asked."""

    def __init__(self, length):
        self.length = length
        self.asked = []
        self.rows = []

    def __call__(self, input_ids, scores, **kwargs):
        self.asked.append(input_ids[0].tolist())
        self.rows.append(scores)
        return torch.full((len(input_ids),), input_ids.shape[1] >= self.length)


@pytest.mark.parametrize("right", [None, [0], [1, 4, 0], [6]])
@pytest.mark.parametrize("new", [1, 2, 5, 9, 99])
def test_fault_16_criteria_are_asked_once_after_every_token_that_is_kept(new, right):
    text, watch = reference(), Watch(len(PROMPT) + new)
    result = run(OracleDraft(text, right), stopping_criteria=StoppingCriteriaList([watch]))
    kept = text[: len(PROMPT) + new]
    assert result.texts[0] == kept
    assert watch.asked == [kept[:length] for length in range(len(PROMPT) + 1, len(kept) + 1)]
    assert watch.rows == [None] * len(watch.asked)
    assert result.stats.stopped_by == ("criterion" if new < NEW else "length")
    assert result.stats.new_tokens == len(kept) - len(PROMPT)
    assert result.stats.rounds == [] or result.stats.rounds[-1].stopped_by == result.stats.stopped_by


def test_fault_31_tokens_behind_a_stop_are_not_counted_as_accepted():
    result = run(OracleDraft(reference()), stopping_criteria=lambda ids, scores: ids.shape[1] >= len(PROMPT) + 4)
    [entry] = result.stats.rounds
    assert (entry.drafted, entry.accepted, entry.emitted, entry.cut) == (6, 3, 3, True)


@pytest.mark.parametrize("draft", ["near", "lookup", None])
def test_criteria_of_transformers_end_the_text_where_they_do_there(draft):
    draft = near_copy("llama", 0.2) if draft == "near" else draft

    def repeats(input_ids, scores, **kwargs):
        return torch.tensor([len(set(input_ids[0, len(PROMPT) :].tolist())) < input_ids.shape[1] - len(PROMPT)])

    for criteria in ([MaxLengthCriteria(len(PROMPT) + 5)], [repeats], [repeats, MaxLengthCriteria(len(PROMPT) + 3)]):
        expected = reference(stopping_criteria=StoppingCriteriaList(criteria))
        assert run(draft, tree="2x3", stopping_criteria=criteria).texts[0] == expected


def test_criteria_see_the_scores_of_all_new_tokens_where_these_are_kept():
    watch = Watch(len(PROMPT) + 7)
    result = run(OracleDraft(reference(), [2, 0, 5]), stopping_criteria=[watch], output_scores=True)
    [account] = result.outputs
    assert [len(rows) for rows in watch.rows] == list(range(1, 8))
    assert all(torch.equal(mine[0], theirs) for mine, theirs in zip(watch.rows[-1], account.scores, strict=True))


def test_the_first_reason_that_holds_is_named():
    always = (lambda ids, scores: True,)
    before = [7, 7, 7, 7]
    assert StopRule(frozenset({2}), 9, None, always).cut([2, 5], before) == ([2], "eos")
    assert StopRule(frozenset(), 9, always[0], always).cut([2, 5], before) == ([2], "stop_string")
    assert StopRule(frozenset(), 5, None, always).cut([2, 5], before) == ([2], "criterion")
    assert StopRule(frozenset(), 5, deadline=0).cut([2, 5], before) == ([2], "length")
    assert StopRule(frozenset(), 9, deadline=0).cut([2, 5], before) == ([2, 5], "time")


def test_the_clock_ends_a_text_after_a_round():
    def slow(input_ids, scores):
        time.sleep(0.02)
        return scores

    result = run(near_copy("llama", 0.2), tree="2x3", max_new_tokens=60, logits_processor=slow, max_time=0.3)
    text = result.texts[0]
    assert text == greedy_reference(tiny("llama"), PROMPT, 60)[: len(text)]
    assert len(text) < len(PROMPT) + 60
    assert result.stats.stopped_by == "time"
    first = run("lookup", max_time=0)
    assert (first.stats.new_tokens, first.stats.stopped_by) == (1, "time")


@pytest.mark.parametrize("yes", [True, 1, torch.tensor(True), torch.tensor([True]), [True], [[True]]])
def test_a_criterion_gives_one_truth_value_in_any_form(yes):
    assert StopRule(frozenset(), 9, None, [lambda ids, scores: yes]).cut([2, 5], [7]) == ([2], "criterion")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (None, TypeError, "answered None: return True where the text ends"),
        ("x", TypeError, "answered 'x': return True where the text ends"),
        (torch.tensor([False, True]), ValueError, "gave 2 answers: criteria see one text at a time"),
        ([], ValueError, "gave 0 answers: criteria see one text at a time"),
    ],
)
def test_fault_16_answers_of_criteria_that_are_no_truth_value_are_refused(answer, error, message):
    with pytest.raises(error, match=message):
        run("lookup", stopping_criteria=lambda ids, scores: answer)


def test_an_exception_in_a_criterion_ends_its_own_text_only():
    def failing(input_ids, scores):
        if input_ids.shape[1] == len(PROMPT) + 4:
            raise OSError("gone")
        return False

    text, streamed = reference(), []

    class Collector:
        def put(self, value):
            streamed.extend(value.reshape(-1).tolist())

        def end(self):
            raise AssertionError("the text did not end")

    engine = Engine(tiny("llama"), near_copy("llama", 0.2))
    options = {"temperature": 0, "max_new_tokens": NEW, "eos_token_id": None}
    bad = engine.add(PROMPT, stopping_criteria=failing, streamer=Collector(), **options)
    good = engine.add(PROMPT, **options)
    while engine.busy:
        engine.step()
    assert isinstance(bad.error, OSError)
    assert bad.committed == streamed == text[: len(bad.committed)]
    assert len(bad.committed) < len(PROMPT) + 4
    assert good.committed == text
    with pytest.raises(OSError, match="gone"):
        run(near_copy("llama", 0.2), stopping_criteria=failing)
    assert run(near_copy("llama", 0.2)).texts[0] == text
