"""Code of one row inside a step: what it cancels, and sessions that are not like the built-in ones."""

import pytest
import torch

from engine.families import VOCABULARY, greedy_reference, near_copy, tiny
from univer.drafting.combined import CombinedDraft
from univer.drafting.guesses import Guess, GuessSession, GuessSource
from univer.drafting.independent import IndependentDraft
from univer.drafting.proposals import RunningProposal
from univer.engine import Engine

PROMPT = [3, 14, 15, 9]


class Heard:
    def __init__(self):
        self.got, self.ends = [], 0

    def put(self, value):
        assert self.ends == 0
        self.got += value.flatten().tolist()

    def end(self):
        self.ends += 1


@pytest.mark.parametrize("draft", ["model", None])
@pytest.mark.parametrize("length", [5, 7])
@pytest.mark.parametrize("kind", ["stopping_criteria", "logits_processor"])
def test_a_row_cancelled_by_its_own_processor_or_criterion_commits_nothing_more(kind, length, draft):
    target, rows, heard = tiny("llama"), [], Heard()
    engine = Engine(target, near_copy("llama") if draft else None)

    def act(input_ids, scores, **_):
        if input_ids.shape[1] >= length:
            engine.cancel(rows[0])
        return scores if kind == "logits_processor" else torch.zeros(len(input_ids), dtype=torch.bool)

    act.depends_on_ids_alone = True
    own = {kind: [act], "streamer": heard}
    rows.append(engine.add(PROMPT, max_new_tokens=12, temperature=0, eos_token_id=None, **own))
    while engine.busy:
        engine.step()
    assert rows[0].error is None
    assert rows[0].stats.stopped_by == "cancelled"
    assert heard.got == rows[0].committed == greedy_reference(target, PROMPT, 12)[: len(rows[0].committed)]
    assert len(rows[0].committed) <= length
    assert heard.ends == 1
    assert engine.batch.texts == []


class Sometimes(GuessSource, GuessSession):
    """A source of guesses that cannot start a request while it is broken."""

    name, broken = "sometimes", True

    def start(self, request):
        if self.broken:
            raise RuntimeError("no source")
        return self

    def guesses(self, committed, path):
        return []


def test_a_source_that_fails_at_its_start_leaves_no_text_in_the_draft_cache():
    inner, source = IndependentDraft(near_copy("llama"), "copy"), Sometimes()
    target = tiny("llama")
    engine = Engine(target, CombinedDraft(inner, [source]))
    failed = [engine.add(PROMPT, max_new_tokens=4, eos_token_id=None) for _ in range(3)]
    engine.step()
    assert [str(row.error) for row in failed] == ["no source"] * 3
    source.broken = False
    row = engine.add(PROMPT, max_new_tokens=8, temperature=0, eos_token_id=None)
    engine.step()
    assert len(row.shared[inner].texts) == 1
    while engine.busy:
        engine.step()
    assert row.committed == greedy_reference(target, PROMPT, 8)


def test_a_proposal_that_yields_no_input_is_an_error():
    def nothing():
        yield None

    with pytest.raises(TypeError, match="yields inputs of passes"):
        RunningProposal(nothing()).advance()


class OneGuess(GuessSession):
    def __init__(self, token):
        self.token = token

    def guesses(self, committed, path):
        return [Guess(self.token, 0.9)]


class WrongForLongTexts(GuessSource):
    """Guesses one token at every node: for texts that may grow beyond 50 tokens one that there is not."""

    name = "wrong"

    def __init__(self, wrong):
        self.wrong = wrong

    def start(self, request):
        return OneGuess(self.wrong if request.max_length > 50 else 5)


@pytest.mark.parametrize("token", [-1, VOCABULARY, VOCABULARY + 7])
@pytest.mark.parametrize("beside", ["alone", "model"])
def test_found_09_a_guess_outside_the_vocabulary_ends_its_own_row_by_name(beside, token):
    target, source = tiny("llama"), WrongForLongTexts(token)
    engine = Engine(
        target, CombinedDraft(IndependentDraft(near_copy("llama")), [source]) if beside == "model" else source
    )
    good, bad = (engine.add(PROMPT, temperature=0, max_new_tokens=new, eos_token_id=None) for new in (12, 60))
    while engine.busy:
        engine.step()
    assert good.committed == greedy_reference(target, PROMPT, 12)
    assert isinstance(bad.error, ValueError)
    assert f"guess source 'wrong' guessed token {token} after []" in str(bad.error)
