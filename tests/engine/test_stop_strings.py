"""Stop strings: the text ends with the token that completes one, wherever rounds and tokens begin and end."""

import pytest
import torch

from engine.fakes import OracleDraft, RecitingModel
from tiny_models import byte_tokenizer, tiny_llama
from univer.engine import generate

TOKENIZER = byte_tokenizer()
LINE = "Say: the fuqzzy naïve fox stops here. And on it goes"


def recite(line, stop_strings, right, prompt=5, **options):
    text = TOKENIZER(line).input_ids
    return generate(
        RecitingModel(text, len(TOKENIZER)),
        OracleDraft(text, right),
        torch.tensor([text[:prompt]]),
        temperature=0,
        tree="chain-6",
        max_length=len(text),
        eos_token_id=None,
        stop_strings=stop_strings,
        tokenizer=TOKENIZER,
        **options,
    )


class Collector:
    def __init__(self):
        self.tokens, self.ends = [], 0

    def put(self, value):
        self.tokens += value.reshape(-1).tolist()

    def end(self):
        self.ends += 1


@pytest.mark.parametrize("right", [[6], [0], [1, 0, 3], [5, 2], [2, 4, 6, 0]])
@pytest.mark.parametrize(
    ("stop_strings", "end"),
    [
        ("stops", "stops"),
        (["nowhere", "fox", "stops"], "fox"),
        ("ï", "naï"),
        # The token "qz" holds the string in its middle: it is kept as a whole.
        ("uq", "fuqz"),
        ("zzy n", "fuqzzy n"),
        ("q", "fuqz"),
        # It began in the prompt, as for transformers.
        (": t", ": t"),
    ],
)
def test_fault_11_stop_strings_across_rounds_and_inside_tokens(stop_strings, end, right):
    streamer = Collector()
    result = recite(LINE, stop_strings, right, streamer=streamer, logprobs=True)
    text = result.texts[0]
    assert TOKENIZER.decode(text) == LINE[: LINE.index(end) + len(end)]
    assert result.stats.stopped_by == "stop_string"
    assert result.stats.new_tokens == len(text) - 5 == len(result.outputs[0].logprobs)
    assert streamer.tokens == text
    assert streamer.ends == 1
    if result.stats.rounds:
        assert result.stats.rounds[-1].stopped_by == "stop_string"
        assert sum(entry.emitted for entry in result.stats.rounds) + 1 == result.stats.new_tokens


def test_a_string_that_never_comes_changes_nothing():
    result = recite(LINE, "never", [3])
    assert TOKENIZER.decode(result.texts[0]) == LINE
    assert result.stats.stopped_by == "length"


def test_fault_33_a_round_that_a_stop_string_cuts_is_left_out_of_tau():
    result = recite(LINE, "he", [6])
    [entry] = result.stats.rounds
    assert (entry.emitted, entry.accepted, entry.cut) == (2, 2, True)
    assert result.stats.tau is None


@pytest.mark.parametrize("draft", ["first=1", "lookup", None])
def test_fault_11_the_text_ends_where_it_ends_in_transformers(draft):
    model, prompt = tiny_llama(3), TOKENIZER("what now? ").input_ids
    ids = torch.tensor([prompt])
    settings = {"do_sample": False, "max_new_tokens": 24, "eos_token_id": None, "pad_token_id": 0}

    def theirs(**stops):
        return model.generate(ids, attention_mask=torch.ones_like(ids), **settings, **stops)[0].tolist()

    pieces = [TOKENIZER.convert_tokens_to_string([token]) for token in TOKENIZER.convert_ids_to_tokens(theirs())]
    plain = [piece for piece in pieces[len(prompt) :] if piece.isascii()]
    assert len(plain) > 3
    for strings in ([plain[2]], plain[3:5], [plain[1] + "!", plain[-1]]):
        expected = theirs(stop_strings=strings, tokenizer=TOKENIZER)
        result = generate(
            model,
            draft,
            ids,
            temperature=0,
            tree="3x4",
            max_new_tokens=24,
            eos_token_id=None,
            stop_strings=strings,
            tokenizer=TOKENIZER,
        )
        assert result.texts[0] == expected
