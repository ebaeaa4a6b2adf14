"""One request: the same text as the engine's, figures of it, plain decoding of as many tokens beside it."""

from typing import Any

import pytest
import torch
from torch import Tensor

import univer
from tiny_models import byte_tokenizer, tiny_llama
from univer.cli.run import run
from univer.drafting.base import Draft, DraftRequest
from univer.drafting.guess_draft import GuessDraft, GuessDraftSession
from univer.drafting.lookup import LookupSource

OPTIONS: dict[str, Any] = {
    "method": "univer",
    "tree": "2x2",
    "order": None,
    "temperature": 1.0,
    "top_k": 20,
    "top_p": None,
    "min_p": None,
    "max_new_tokens": 24,
}


@pytest.fixture(scope="module")
def prompt() -> Tensor:
    return torch.tensor([byte_tokenizer()("once upon a time, once upon a").input_ids])


class _Interrupted(Draft):
    """Look-up that the user interrupts in a given round."""

    name = "interrupted"
    fixed_only = True

    def __init__(self, interrupted_round: int) -> None:
        self.left = interrupted_round

    def start(self, request: DraftRequest) -> GuessDraftSession:
        session = GuessDraft([LookupSource()]).start(request)
        propose = session.propose

        def counted(*arguments: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return propose(*arguments)

        session.propose = counted  # type: ignore[method-assign]
        return session


def test_the_text_is_the_engine_s_and_the_baseline_as_long(prompt: Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    model, tokenizer = tiny_llama(0), byte_tokenizer()
    outcome = run(model, "lookup", tokenizer, prompt, show_text=True, baseline=True, seed=5, **OPTIONS)
    result = univer.generate(model, "lookup", prompt, seed=5, **OPTIONS)
    new = result.sequences[0, prompt.shape[1] :].tolist()
    assert outcome.tokens == new
    assert sum(outcome.from_draft) == outcome.stats.accepted == result.stats.accepted
    assert outcome.text == tokenizer.decode(new, skip_special_tokens=True)
    assert capsys.readouterr().out == outcome.text + "\n"
    assert outcome.baseline is not None
    assert outcome.baseline.new_tokens == len(new)
    assert outcome.baseline.target_passes == len(new)
    assert outcome.baseline.method == "plain"
    assert not outcome.interrupted


def test_without_a_baseline_there_is_no_ratio(prompt: Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run(tiny_llama(0), "lookup", byte_tokenizer(), prompt, show_text=False, baseline=False, seed=5, **OPTIONS)
    assert outcome.baseline is None
    assert outcome.to_dict()["ratio_to_plain"] is None
    assert capsys.readouterr().out == ""


def test_nothing_asked_for_is_nothing_done(prompt: Tensor) -> None:
    options = OPTIONS | {"max_new_tokens": 0}
    outcome = run(tiny_llama(0), "lookup", byte_tokenizer(), prompt, show_text=False, baseline=True, seed=5, **options)
    assert (outcome.text, outcome.tokens, outcome.baseline) == ("", [], None)


def test_an_interrupted_run_keeps_what_there_is(prompt: Tensor, capsys: pytest.CaptureFixture[str]) -> None:
    model, tokenizer = tiny_llama(0), byte_tokenizer()
    draft = _Interrupted(interrupted_round=6)
    outcome = run(model, draft, tokenizer, prompt, show_text=True, baseline=False, seed=5, **OPTIONS)
    assert outcome.interrupted
    assert len(outcome.stats.rounds) == 5
    assert outcome.stats.new_tokens == len(outcome.tokens) >= 6
    whole = run(model, "lookup", tokenizer, prompt, show_text=False, baseline=False, seed=5, **OPTIONS)
    assert whole.tokens[: len(outcome.tokens)] == outcome.tokens
    capsys.readouterr()
    outcome.print_figures()
    assert "interrupted" in capsys.readouterr().out


def test_fault_35_both_ways_do_the_same_work_and_all_of_it_is_timed(prompt: Tensor) -> None:
    target = tiny_llama(0)
    options = OPTIONS | {"temperature": 0.0, "top_k": None}
    outcome = run(
        target,
        "first=2",
        byte_tokenizer(),
        prompt,
        show_text=False,
        baseline=True,
        seed=1,
        eos_token_id=None,
        **options,
    )
    fast, plain = outcome.stats, outcome.baseline
    assert plain is not None
    assert fast.new_tokens == plain.new_tokens == plain.target_passes == 24
    expected = univer.generate(target, None, prompt, temperature=0, max_new_tokens=24, eos_token_id=None)
    assert outcome.tokens == expected.sequences[0, prompt.shape[1] :].tolist()
    for stats in (fast, plain):
        assert stats.tokens_per_second == stats.new_tokens / sum(stats.seconds.values())
        assert stats.seconds["prefill"] > 0
        assert stats.seconds["target"] > 0
    assert fast.seconds["draft"] > 0
    assert outcome.to_dict()["ratio_to_plain"] == fast.tokens_per_second / plain.tokens_per_second
