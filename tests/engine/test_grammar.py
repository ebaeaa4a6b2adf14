"""Texts that keep to a grammar: on trees as in plain decoding."""

import json
import re

import pytest
import torch
from outlines_core import Index, Vocabulary
from transformers import LogitsProcessorList

from engine.families import VOCABULARY, greedy_reference, near_copy, tiny
from univer.engine import Grammar, generate, plain

PROMPT = [3, 14, 15, 9]
EOS = 2
# Lists of one to three objects, by tokens of one to four characters.
OBJECT = r'\{"(a|b|ab)":([1-9][0-9]{0,2}|"[xyz]{1,3}")\}'
PATTERN = rf"\[{OBJECT}(,{OBJECT}){{0,2}}\]"
PIECES = ['[{"', '"}', '{"', '":', '":"', "}", "]", "},", '},{"', "}]", "[", "{", ",", '"', ":", "a", "b", "ab"]
PIECES += [str(digit) for digit in range(10)] + ["12", "99", "x", "y", "z", "xy", "zzz", " ", "no", "?"]
TEXT = dict(enumerate(PIECES, start=3))


@pytest.fixture(scope="module")
def index():
    return Index(PATTERN, Vocabulary(EOS, {piece: [token] for token, piece in TEXT.items()}))


def written(tokens):
    return "".join(TEXT[token] for token in tokens if token != EOS)


def run(index, family, draft, **options):
    options = {"eos_token_id": EOS, "max_new_tokens": 60, "logits_processor": [Grammar(index, len(PROMPT))]} | options
    draft = near_copy(family, 0.2) if draft == "near" else draft
    return generate(tiny(family), draft, torch.tensor([PROMPT]), **options)


@pytest.mark.parametrize("tree", ["2x3", "4x2", "grow:nodes=12,depth=4"])
@pytest.mark.parametrize("draft", ["near", "first=1", "lookup+automaton", "first=1+automaton"])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_fault_27_the_greedy_text_is_that_of_plain_decoding(index, family, draft, tree):
    processors = LogitsProcessorList([Grammar(index, len(PROMPT))])
    expected = greedy_reference(tiny(family), PROMPT, 60, EOS, logits_processor=processors)
    result = run(index, family, draft, tree=tree, temperature=0)
    assert result.sequences[0].tolist() == expected
    assert re.fullmatch(PATTERN, written(expected[len(PROMPT) :])) or len(expected) == len(PROMPT) + 60


@pytest.mark.parametrize("method", ["univer", "traversal", "block"])
def test_fault_27_every_sampled_text_keeps_to_the_grammar(index, method):
    ended = accepted = 0
    for seed in range(12):
        result = run(index, "llama", "near", method=method, seed=seed)
        text = result.sequences[0].tolist()[len(PROMPT) :]
        accepted += result.stats.accepted
        if text[-1] == EOS:
            ended += 1
            assert re.fullmatch(PATTERN, written(text))
            assert isinstance(json.loads(written(text)), list)
    assert ended > 8
    assert accepted > 40


def test_states_are_found_again_after_they_were_forgotten(index, monkeypatch):
    expected = run(index, "llama", "near", temperature=0).sequences
    monkeypatch.setattr("univer.engine.grammar.REMEMBERED", 2)
    assert torch.equal(run(index, "llama", "near", temperature=0).sequences, expected)


def test_rows_of_any_texts_in_any_order(index):
    grammar, scores = Grammar(index, 1), torch.zeros(1, VOCABULARY)
    tokens = {piece: token for token, piece in TEXT.items()}
    start = [0, tokens['[{"'], tokens["a"], tokens['":']]
    texts = torch.tensor([[*start, tokens[piece]] for piece in ("12", '"', "9")])
    together = grammar(texts, scores.expand(3, -1))
    for text, row in reversed(list(zip(texts, together, strict=True))):
        assert torch.equal(Grammar(index, 1)(text[None], scores)[0], row)
        assert torch.equal(grammar(text[None], scores)[0], row)
    outside = torch.tensor([[*start, tokens["no"]]])
    assert torch.equal(grammar(outside, scores), scores)


def test_a_grammar_and_settings_by_name_together(index):
    settings = {"temperature": 0, "repetition_penalty": 1.5, "frequency_penalty": 0.5, "max_new_tokens": 60}
    result = run(index, "llama", "near", **settings)
    expected = plain(
        tiny("llama"),
        torch.tensor([PROMPT]),
        eos_token_id=EOS,
        logits_processor=[Grammar(index, len(PROMPT))],
        **settings,
    )
    assert torch.equal(result.sequences, expected.sequences)
    assert re.fullmatch(PATTERN, written(result.texts[0][len(PROMPT) :]))
