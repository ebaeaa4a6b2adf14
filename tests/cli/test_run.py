"""One request: the same text as the engine's, figures of it, and the comparison with plain decoding."""

import io
from importlib import import_module
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import Tensor

import univer
from tiny_models import byte_tokenizer, tiny_llama
from univer.cli.loading import Pair
from univer.cli.run import RUNS, PlainComparison, answer, compare_with_plain, converse, print_figures
from univer.drafting.base import Draft, DraftRequest
from univer.drafting.guess_draft import GuessDraft, GuessDraftSession
from univer.drafting.lookup import LookupSource
from univer.engine import GenerationStats, RoundStats, generate_rounds
from univer.engine.drafts import as_draft

OPTIONS: dict[str, Any] = {
    "method": "univer",
    "tree": "2x2",
    "order": None,
    "temperature": 1.0,
    "top_k": 20,
    "top_p": None,
    "min_p": None,
    "max_new_tokens": 24,
    "seed": 5,
}


def _pair(draft: Any) -> Pair:
    target = tiny_llama(0)
    found = as_draft(draft, target)
    assert found is not None
    return Pair(target, byte_tokenizer(), found, "named")


def _console(terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=40, highlight=False, markup=False, _environ={})


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


def test_the_text_is_the_engine_s(prompt: Tensor) -> None:
    pair, console = _pair("lookup"), _console()
    outcome = answer(pair, "said", prompt, OPTIONS, console)
    result = univer.generate(pair.target, "lookup", prompt, **OPTIONS)
    new = result.sequences[0, prompt.shape[1] :].tolist()
    assert outcome.tokens == new
    assert sum(outcome.from_draft) == outcome.stats.accepted == result.stats.accepted
    assert outcome.text == pair.tokenizer.decode(new, skip_special_tokens=True)
    assert console.file.getvalue() == outcome.text + "\n"
    assert not outcome.interrupted


def test_found_31_each_turn_is_asked_once_the_earlier_ones_are_answered() -> None:
    pair = _pair("lookup")
    options = OPTIONS | {"max_new_tokens": 6}
    first, second = converse(pair, [["hi", "and you?"]], "Be brief.", options, chat=True, console=None)
    assert (first.prompt, second.prompt) == ("hi", "and you?")
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": first.text},
        {"role": "user", "content": "and you?"},
    ]
    whole = pair.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]
    assert second.input_ids[0].tolist() == whole


def test_found_22_the_first_answer_is_preceded_by_an_untimed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("univer.cli.run")
    lengths = []

    def counted(*given: Any, **options: Any) -> Any:
        lengths.append(options["max_new_tokens"])
        return generate_rounds(*given, **options)

    monkeypatch.setattr(module, "generate_rounds", counted)
    (once, twice) = converse(_pair("lookup"), [["abc"], ["abc"]], None, OPTIONS, chat=False, console=None)
    assert lengths == [module.WARM_UP_TOKENS, 24, 24]
    assert once.tokens == twice.tokens


def test_an_interrupted_run_keeps_what_there_is(prompt: Tensor) -> None:
    outcome = answer(_pair(_Interrupted(interrupted_round=6)), "said", prompt, OPTIONS, None)
    assert outcome.interrupted
    assert outcome.ending == "interrupted"
    assert len(outcome.stats.rounds) == 5
    assert outcome.stats.new_tokens == len(outcome.tokens) >= 6
    whole = answer(_pair("lookup"), "said", prompt, OPTIONS, None)
    assert whole.tokens[: len(outcome.tokens)] == outcome.tokens


def test_fault_35_both_ways_do_the_same_work_and_all_of_it_is_timed(prompt: Tensor) -> None:
    pair = _pair("first=2")
    options = OPTIONS | {"temperature": 0.0, "top_k": None, "eos_token_id": None}
    outcome = answer(pair, "said", prompt, options, None)
    plain = univer.engine.plain(pair.target, prompt, **options).stats
    assert outcome.stats.new_tokens == plain.new_tokens == plain.target_passes == 24
    expected = univer.generate(pair.target, None, prompt, temperature=0, max_new_tokens=24, eos_token_id=None)
    assert outcome.tokens == expected.sequences[0, prompt.shape[1] :].tolist()
    for stats in (outcome.stats, plain):
        assert stats.tokens_per_second == stats.new_tokens / sum(stats.seconds.values())
        assert stats.seconds["prefill"] > 0
        assert stats.seconds["target"] > 0
    assert outcome.stats.seconds["draft"] > 0


def test_found_22_runs_with_and_without_the_draft_alternate(prompt: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("univer.cli.run")
    drafts: list[str] = []

    def counted(target: Any, draft: Any, *given: Any, **options: Any) -> Any:
        drafts.append("plain" if draft is None else "draft")
        return generate_rounds(target, draft, *given, **options)

    monkeypatch.setattr(module, "generate_rounds", counted)
    comparison = compare_with_plain(_pair("first=2"), prompt, 7, OPTIONS)
    assert comparison.tokens == 7
    assert len(comparison.drafted) == len(comparison.plain) == RUNS
    assert drafts == ["draft", "plain", "plain", "draft"] * (RUNS // 2) + ["draft", "plain"] * (RUNS % 2)


@pytest.mark.parametrize(
    ("drafted", "noise", "advice"), [(20.0, False, False), (10.1, True, False), (9.9, True, True), (5.0, False, True)]
)
def test_found_22_a_speed_up_says_how_sure_it_is_and_what_to_do_below_one(
    drafted: float, noise: bool, advice: bool
) -> None:
    plain = (10.0, 9.5, 10.4, 9.8, 10.3)
    swings = (1.0, 1.05, 0.97, 1.03, 0.96)
    comparison = PlainComparison(32, tuple(drafted * swing for swing in swings), plain)
    mean, low, high = comparison.interval()
    assert low < mean < high
    assert mean == pytest.approx(drafted / 10, rel=0.02)
    assert comparison.to_dict()["speed_up"] == {"mean": mean, "low": low, "high": high}
    rows = dict(comparison.rows())
    assert f"95% interval {low:.2f} to {high:.2f} over 5 alternating runs of 32 tokens" in rows["speed-up"]
    assert ("within noise" in rows["speed-up"]) is noise
    assert ("what to do" in rows) is advice


def _stats() -> GenerationStats:
    stats = GenerationStats("univer", "lookup", "2x2", prompt_tokens=3, new_tokens=9, target_passes=4)
    stats.rounds = [RoundStats(6, 4, accepted, accepted + 1, None, False) for accepted in (3, 0, 2)]
    stats.seconds["target"] = 2.0
    return stats


def _printed(stats: GenerationStats, *, terminal: bool = False) -> str:
    console = _console(terminal)
    print_figures(console, [("setting", "method univer")], stats, "end of text", [("more", "3")])
    return console.file.getvalue()


def test_figures_are_those_of_the_run() -> None:
    lines = dict(line.split("  ", 1) for line in _printed(_stats()).splitlines())
    values = {name: value.strip() for name, value in lines.items()}
    assert values["setting"] == "method univer"
    assert values["tau"] == "2.67 tokens a round"
    assert values["tokens per pass"] == "2.25 (9 tokens, 4 passes)"
    assert values["accepted"] == "5 of 18 drafted tokens in 3 rounds"
    assert values["speed"] == "4.5 tokens/s"
    assert values["time"].startswith("2.00 s: prefill 0.00, draft 0.00, target 2.00")
    assert values["ended by"] == "end of text"
    assert values["more"] == "3"


def test_what_is_not_known_is_not_invented() -> None:
    printed = _printed(GenerationStats("univer", "lookup", "2x2", prompt_tokens=3))
    assert "tau              - tokens a round" in printed


def test_colours_and_their_legend_are_for_terminals() -> None:
    assert "\x1b[" not in _printed(_stats())
    assert "accepted draft tokens" not in _printed(_stats())
    assert "\x1b[32maccepted draft tokens" in _printed(_stats(), terminal=True)
