"""Settings and processors that look at the history, on trees: the text is that of transformers."""

import copy

import pytest
import torch
from transformers import LogitsProcessorList, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper

import univer
from engine.families import greedy_reference, near_copy, tiny
from univer.engine import Engine, generate
from univer.engine.processors import OccurrencePenalty, request_processors

PROMPT = [3, 14, 15, 9, 26, 5, 14, 15]
NEW = 18
TREES = {"near": "2x3", "first=1": "chain-4", "lookup": "3x2", "grown": "grow:nodes=12,depth=4"}


def text_of(family, eos=None, prompt=PROMPT):
    return greedy_reference(tiny(family), prompt, NEW, eos)


def settings_of(name, family):
    """A value of a setting that changes the greedy text, and the end-of-text token that it needs."""
    plain = text_of(family)[len(PROMPT) :]
    often, third = max(plain, key=plain.count), plain[2]
    unused = next(token for token in range(3, 61) if token not in plain)
    return {
        "repetition_penalty": (1.5, None),
        "no_repeat_ngram_size": (1, None),
        "bad_words_ids": ([[plain[1]], plain[3:5]], None),
        "sequence_bias": ([[[often], -100.0], [plain[:2], -7.5]], None),
        "min_length": (len(PROMPT) + 7, third),
        "min_new_tokens": (5, third),
        "forced_eos_token_id": (unused, unused),
        "exponential_decay_length_penalty": ((2, 1.9), 17),
        "suppress_tokens": ([often, plain[0]], None),
        "begin_suppress_tokens": ([plain[0]], None),
        "remove_invalid_values": (True, None),
    }[name]


NAMES = [
    "repetition_penalty",
    "no_repeat_ngram_size",
    "bad_words_ids",
    "sequence_bias",
    "min_length",
    "min_new_tokens",
    "forced_eos_token_id",
    "exponential_decay_length_penalty",
    "suppress_tokens",
    "begin_suppress_tokens",
    "remove_invalid_values",
]


def run(family, draft, prompt=PROMPT, target=None, **options):
    options = {"temperature": 0, "max_new_tokens": NEW, "tree": TREES[draft], "eos_token_id": None} | options
    draft = near_copy(family, 0.2) if draft in ("near", "grown") else draft
    return generate(target or tiny(family), draft, torch.tensor([prompt]), **options)


@pytest.mark.parametrize("draft", TREES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_fault_26_settings_by_name_give_the_greedy_text_of_transformers(family, name, draft):
    value, eos = settings_of(name, family)
    expected = greedy_reference(tiny(family), PROMPT, NEW, eos, **{name: value})
    assert name == "remove_invalid_values" or expected != text_of(family, eos), "the setting has no effect"
    result = run(family, draft, eos_token_id=eos, **{name: value})
    assert result.sequences[0].tolist() == expected


@pytest.mark.parametrize("draft", TREES)
def test_fault_26_settings_together_and_from_the_configuration(draft):
    target = copy.copy(tiny("llama"))
    target.generation_config = copy.deepcopy(target.generation_config)
    together = {"repetition_penalty": 1.3, "no_repeat_ngram_size": 2, "min_new_tokens": 6, "suppress_tokens": [9]}
    eos = text_of("llama")[len(PROMPT) + 2]
    expected = greedy_reference(tiny("llama"), PROMPT, NEW, eos, **together)
    target.generation_config.update(**together)
    assert run("llama", draft, target=target, eos_token_id=eos).sequences[0].tolist() == expected


@pytest.mark.parametrize("draft", ["near", "lookup"])
def test_fault_26_the_forced_first_token(draft):
    expected = greedy_reference(tiny("llama"), [7], NEW, forced_bos_token_id=33, begin_suppress_tokens=[12, 18])
    result = run("llama", draft, [7], forced_bos_token_id=33, begin_suppress_tokens=[12, 18])
    assert result.sequences[0].tolist() == expected
    assert expected[1] == 33


class OddBan:
    """Bans odd ids, and every id that stands at the second to last place."""

    def __call__(self, input_ids, scores):
        scores[:, 1::2] = -torch.inf
        if input_ids.shape[1] > 1:
            scores.scatter_(1, input_ids[:, -2:-1], -torch.inf)
        return scores


@pytest.mark.parametrize("draft", TREES)
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_fault_26_processors_of_the_caller(family, draft):
    expected = greedy_reference(tiny(family), PROMPT, NEW, logits_processor=LogitsProcessorList([OddBan()]))
    for given in (OddBan(), [OddBan()], LogitsProcessorList([OddBan()])):
        result = run(family, draft, logits_processor=given)
        assert result.sequences[0].tolist() == expected
    assert any(entry.accepted for entry in result.stats.rounds) or draft in ("lookup", "first=1")


def test_processors_work_in_bfloat16_as_in_transformers():
    target = copy.deepcopy(tiny("llama")).bfloat16()
    expected = greedy_reference(target, PROMPT, NEW, repetition_penalty=1.4)
    result = generate(
        target,
        None,
        torch.tensor([PROMPT]),
        temperature=0,
        max_new_tokens=NEW,
        repetition_penalty=1.4,
        eos_token_id=None,
    )
    assert result.sequences[0].tolist() == expected


@pytest.mark.parametrize("draft", TREES)
def test_fault_26_penalties_on_what_was_generated(draft):
    text, model = list(PROMPT), tiny("llama")
    for _ in range(NEW):
        with torch.no_grad():
            scores = model(torch.tensor([text])).logits[0, -1]
        new = text[len(PROMPT) :]
        for token in set(new):
            scores[token] -= 2.5 * new.count(token) + 1.5
        text.append(int(scores.argmax()))
    assert text != text_of("llama")
    result = run("llama", draft, frequency_penalty=2.5, presence_penalty=1.5)
    assert result.sequences[0].tolist() == text


def names(processors):
    return [type(processor).__name__.removesuffix("LogitsProcessor") for processor in processors]


def test_the_order_is_that_of_transformers_and_the_callers_own_class_goes_first():
    settings = {"repetition_penalty": 1.2, "sequence_bias": {(3,): 1.0}, "suppress_tokens": [4], "min_length": 9}
    request = {"prompt_length": 3, "max_length": 20, "eos": frozenset({2}), "device": torch.device("cpu")}
    own = [TemperatureLogitsWarper(0.5), RepetitionPenaltyLogitsProcessor(1.9)]
    chosen = request_processors(settings, own, **request)
    assert names(chosen) == [
        "SequenceBias",
        "RepetitionPenalty",
        "MinLength",
        "SuppressTokens",
        "TemperatureLogitsWarper",
    ]
    assert chosen[1] is own[1]
    without = request_processors(settings, [], **(request | {"eos": frozenset()}))
    assert "MinLength" not in names(without)
    both = request_processors({"min_length": 9, "min_new_tokens": 2}, [], **request)
    assert names(both) == ["MinNewTokensLength"]


def test_occurrences_count_for_each_row_apart():
    penalty = OccurrencePenalty(0.5, 0.25, prompt_length=1)
    ids = torch.tensor([[1, 2, 2], [1, 0, 1]])
    expected = torch.tensor([[0, 0, -1.25], [-0.75, -0.75, 0]])
    assert torch.equal(penalty(ids, torch.zeros(2, 3)), expected)


@pytest.mark.parametrize("prompt", [[3], [3, 4, 5]])
@pytest.mark.parametrize("forced", ["forced_bos_token_id", "forced_eos_token_id"])
@pytest.mark.parametrize("sample", [True, False])
def test_found_07_a_forced_token_that_is_suppressed_is_refused_as_in_transformers(sample, forced, prompt):
    settings = {forced: 7, "suppress_tokens": [5, 7], "max_new_tokens": 4, "eos_token_id": None}
    target, ids = tiny("llama"), torch.tensor([prompt])
    for call in ({}, {"custom_generate": univer.hf("lookup")}):
        with pytest.raises(ValueError, match=f"Every token in `{forced}`"):
            target.generate(ids, do_sample=sample, **settings, **call)
    for run in (
        lambda: generate(target, "lookup", ids, temperature=float(sample), **settings),
        lambda: Engine(target).add(prompt, temperature=float(sample), **settings),
    ):
        with pytest.raises(ValueError, match=f"{forced}=7 forces what suppress_tokens forbids"):
            run()


@pytest.mark.parametrize("ban", [{"begin_suppress_tokens": [7]}, {"bad_words_ids": [[7]]}])
def test_bans_that_do_not_reach_the_forced_first_token(ban):
    settings = {"forced_bos_token_id": 7, "eos_token_id": None} | ban
    expected = greedy_reference(tiny("llama"), [3], 6, None, forced_bos_token_id=7, **ban)
    assert generate(tiny("llama"), "lookup", [[3]], temperature=0, max_new_tokens=6, **settings).texts[0] == expected
