"""What a streamer gets, and what the step by step interface tells."""

import pytest
import torch
from transformers import TextIteratorStreamer

from engine.fakes import OracleDraft, RecitingModel
from engine.families import greedy_reference, near_copy, tiny
from tiny_models import byte_tokenizer
from univer.engine import generate, generate_rounds

PROMPT = [3, 14, 15, 9, 26, 5]


class Collector:
    def __init__(self):
        self.pieces = []
        self.ends = 0

    def put(self, value):
        assert self.ends == 0
        self.pieces.append(value.reshape(-1).tolist())

    def end(self):
        self.ends += 1


@pytest.mark.parametrize("options", [{"max_new_tokens": 14}, {"max_new_tokens": 1}, {"max_new_tokens": 0}])
@pytest.mark.parametrize("temperature", [0, 1])
def test_fault_36_every_token_once_in_order(options, temperature):
    streamer = Collector()
    result = generate(
        tiny("llama"),
        near_copy("llama"),
        torch.tensor([PROMPT]),
        temperature=temperature,
        seed=1,
        streamer=streamer,
        eos_token_id=None,
        **options,
    )
    assert streamer.pieces[0] == PROMPT
    assert all(len(piece) == 1 for piece in streamer.pieces[1:])
    assert [token for piece in streamer.pieces for token in piece] == result.sequences[0].tolist()
    assert streamer.ends == 1


def test_fault_36_nothing_is_streamed_after_a_stop_inside_a_block():
    text = greedy_reference(tiny("llama"), PROMPT, 20)
    place = next(i for i in range(len(PROMPT) + 2, len(text)) if text[i] not in text[len(PROMPT) : i])
    streamer = Collector()
    generate(
        tiny("llama"),
        OracleDraft(text),
        torch.tensor([PROMPT]),
        temperature=0,
        tree="chain-10",
        streamer=streamer,
        eos_token_id=text[place],
    )
    assert [token for piece in streamer.pieces for token in piece] == text[: place + 1]
    assert streamer.ends == 1


def test_fault_36_characters_split_over_tokens_and_rounds():
    tokenizer = byte_tokenizer()
    text = tokenizer("naïve: 日本 – and so on").input_ids
    prompt = text[:4]
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True)
    result = generate(
        RecitingModel(text, len(tokenizer)),
        OracleDraft(text, [1, 0, 2, 4, 3]),
        torch.tensor([prompt]),
        temperature=0,
        tree="chain-4",
        max_length=len(text),
        streamer=streamer,
        eos_token_id=None,
    )
    assert result.sequences[0].tolist() == text
    assert "".join(streamer) == tokenizer.decode(text[4:])


def test_steps_tell_drafted_tokens_from_the_targets_own():
    text = greedy_reference(tiny("llama"), PROMPT, 9)
    generation = generate_rounds(
        tiny("llama"),
        OracleDraft(text, [2, 0]),
        torch.tensor([PROMPT]),
        temperature=0,
        tree="chain-3",
        max_new_tokens=9,
        eos_token_id=None,
    )
    steps = list(generation)
    assert [step.from_draft for step in steps[:4]] == [[False], [True, True, False], [False], [True, True, False]]
    assert steps[0].round is None
    assert steps[1].round.accepted == 2
    assert [token for step in steps for token in step.tokens] == text[len(PROMPT) :]
    assert generation.result.sequences[0].tolist() == text
    assert generation.stats is generation.result.stats


def test_a_stop_on_a_drafted_token_is_told_as_drafted():
    text = greedy_reference(tiny("llama"), PROMPT, 9)
    place = next(i for i in range(len(PROMPT) + 2, len(text)) if text[i] not in text[len(PROMPT) : i])
    *_, last = generate_rounds(
        tiny("llama"),
        OracleDraft(text),
        torch.tensor([PROMPT]),
        temperature=0,
        tree="chain-8",
        eos_token_id=text[place],
    )
    assert last.tokens[-1] == text[place]
    assert all(last.from_draft)
    assert last.round.accepted == last.round.emitted == len(last.tokens)
    assert last.round.cut


def test_what_a_streamer_gets_may_be_changed_in_place():
    class Shifting(Collector):
        def put(self, value):
            super().put(value.add_(1))

        def end(self):
            assert not torch.is_inference_mode_enabled()
            super().end()

    streamer = Shifting()
    options = {"max_new_tokens": 6, "eos_token_id": None, "temperature": 0}
    result = generate(tiny("llama"), "lookup", torch.tensor([PROMPT]), streamer=streamer, **options)
    assert [token - 1 for piece in streamer.pieces for token in piece] == result.texts[0]
    assert streamer.ends == 1


def test_a_text_that_its_streamer_ends_at_the_prompt_has_no_steps():
    class Cancelling(Collector):
        def put(self, value):
            super().put(value)
            generation.engine.cancel(generation.rows[0])

    streamer = Cancelling()
    generation = generate_rounds(tiny("llama"), "lookup", torch.tensor([PROMPT]), streamer=streamer)
    assert list(generation) == []
    assert generation.committed == PROMPT
    assert streamer.ends == 1
