"""Log-probabilities and rows of emitted tokens: those of plain decoding, whoever proposed the token."""

from itertools import pairwise

import pytest
import torch

from engine.fakes import ScriptedDraft, TableModel
from engine.families import VOCABULARY, near_copy, tiny
from univer.engine import Sampling, generate, generate_rounds, plain

PROMPT = [3, 14, 15, 9, 26, 5]
WANTED = {"logprobs": 3, "output_scores": True, "output_logits": True}
SETTINGS = {"temperature": 0.8, "top_k": 20, "repetition_penalty": 1.2}


def run(draft, **options):
    options = {"tree": "2x3", "max_new_tokens": 14, "eos_token_id": None, "seed": 0} | WANTED | options
    return generate(tiny("llama"), draft, torch.tensor([PROMPT]), **options)


def assert_same(account, other):
    for mine, theirs in zip(account.logprobs, other.logprobs, strict=True):
        assert mine.token == theirs.token
        assert mine.logprob == pytest.approx(theirs.logprob, abs=1e-5)
        assert mine.processed == pytest.approx(theirs.processed, abs=1e-5)
        assert list(mine.top) == list(theirs.top)
    torch.testing.assert_close(account.scores, other.scores, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(account.logits, other.logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("draft", ["near", "first=1", "lookup"])
@pytest.mark.parametrize("settings", [{}, {"repetition_penalty": 1.3}])
def test_fault_30_greedy_texts_report_what_plain_decoding_and_transformers_report(draft, settings):
    draft = near_copy("llama", 0.2) if draft == "near" else draft
    result = run(draft, temperature=0, **settings)
    [account] = result.outputs
    assert_same(account, run(None, temperature=0, **settings).outputs[0])
    ids = torch.tensor([PROMPT])
    theirs = tiny("llama").generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=14,
        eos_token_id=None,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        **settings,
    )
    assert torch.equal(result.sequences, theirs.sequences)
    torch.testing.assert_close(account.scores, [row[0] for row in theirs.scores], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(account.logits, [row[0] for row in theirs.logits], atol=1e-5, rtol=1e-5)
    transitions = tiny("llama").compute_transition_scores(theirs.sequences, theirs.scores, normalize_logits=True)[0]
    assert [entry.processed for entry in account.logprobs] == pytest.approx(transitions.tolist(), abs=1e-5)


def test_fault_30_sampled_texts_report_the_rows_of_their_own_prefixes():
    result = run(near_copy("llama", 0.2), seed=2, **SETTINGS)
    [account], text = result.outputs, result.texts[0]
    assert result.stats.accepted > 2
    with torch.no_grad():
        rows = tiny("llama")(torch.tensor([text])).logits[0, len(PROMPT) - 1 : -1]
    new = text[len(PROMPT) :]
    for place, (token, row) in enumerate(zip(new, rows, strict=True)):
        penalised = row.clone()
        for seen in set(text[: len(PROMPT) + place]):
            penalised[seen] = row[seen] * 1.2 if row[seen] < 0 else row[seen] / 1.2
        warped = Sampling(0.8, top_k=20).warp(penalised[None])[0]
        entry = account.logprobs[place]
        assert entry.token == token
        assert entry.logprob == pytest.approx(float(row.log_softmax(-1)[token]), abs=1e-5)
        assert entry.processed == pytest.approx(float(warped.log_softmax(-1)[token]), abs=1e-5)
        assert list(entry.top) == row.topk(3).indices.tolist()
        torch.testing.assert_close(account.logits[place], row, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(account.scores[place], warped, atol=1e-5, rtol=1e-5)


def test_fault_30_rejected_siblings_leave_no_entry():
    laws = torch.tensor([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
    trees = [[(0, 0), (0, 2), (2, 0), (2, 1), (4, 2)], [(0, 1), (1, 1)]]
    result = generate(
        TableModel(laws),
        ScriptedDraft(trees),
        torch.tensor([[1]]),
        temperature=0,
        max_new_tokens=7,
        eos_token_id=None,
        logprobs=True,
    )
    text = result.texts[0]
    assert result.stats.rounds[0].accepted == 2
    expected = [float(laws[before, token].log()) for before, token in pairwise(text)]
    assert [entry.logprob for entry in result.outputs[0].logprobs] == pytest.approx(expected, abs=1e-5)
    assert all(entry.top == {} for entry in result.outputs[0].logprobs)


def test_steps_hold_the_entries_of_their_tokens_and_a_stop_cuts_them():
    text = run(near_copy("llama", 0.2), temperature=0).texts[0]
    eos = text[len(PROMPT) + 6]
    options = {"temperature": 0, "tree": "2x3", "max_new_tokens": 14, "eos_token_id": eos} | WANTED
    generation = generate_rounds(tiny("llama"), near_copy("llama", 0.2), torch.tensor([PROMPT]), **options)
    steps = list(generation)
    for step in steps:
        assert [entry.token for entry in step.outputs.logprobs] == step.tokens
        assert len(step.outputs.scores) == len(step.outputs.logits) == len(step.tokens)
    [account] = generation.result.outputs
    assert [entry.token for entry in account.logprobs] == generation.committed[len(PROMPT) :]
    assert account.logprobs[-1].token == eos


def test_no_more_likely_tokens_are_kept_than_there_are():
    [account] = run(None, logprobs=9999).outputs
    assert {len(entry.top) for entry in account.logprobs} == {VOCABULARY}


def test_nothing_is_kept_that_was_not_asked_for():
    result = run(near_copy("llama"), logprobs=False, output_scores=False, output_logits=False)
    [account] = result.outputs
    assert (account.logprobs, account.scores, account.logits) == (None, None, None)
    [account] = run(near_copy("llama"), logprobs=0, output_scores=False).outputs
    assert account.scores is None
    assert len(account.logits) == len(account.logprobs) == 14


def test_each_text_of_a_batch_has_its_own():
    ids = torch.tensor([PROMPT, PROMPT[::-1]])
    options = {"temperature": 0, "max_new_tokens": 9, "eos_token_id": None} | WANTED
    together = generate(tiny("llama"), near_copy("llama", 0.2), ids, tree="2x3", **options)
    for prompt, account in zip(ids, together.outputs, strict=True):
        assert_same(account, plain(tiny("llama"), prompt[None], **options).outputs[0])


def test_rows_can_be_worked_on_after_the_run():
    [account] = run("lookup").outputs
    account.logits[0] += 1
    assert not account.scores[0].is_inference()
