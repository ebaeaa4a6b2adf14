"""Streamed text is the text, whole characters only, in two colours on a terminal."""

import io

import pytest
from rich.console import Console

from tiny_models import byte_tokenizer
from univer.cli.run import TextStream

TEXT = "caf\u00e9 \u4f60\u597d \U0001f600 a  b\n\tqz"


def _console(terminal: bool) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        color_system="standard" if terminal else None,
        highlight=False,
        _environ={},
    )


def _pieces(stream: TextStream, tokens: list[int]) -> list[str]:
    """What each token adds to the text."""
    pieces = []
    for token in tokens:
        before = len(stream.text)
        stream.write([token], [False])
        pieces.append(stream.text[before:])
    return pieces


def test_pieces_are_whole_characters_and_add_up_to_the_text() -> None:
    tokenizer = byte_tokenizer()
    stream = TextStream(tokenizer, tokenizer("prompt").input_ids)
    pieces = _pieces(stream, tokenizer(TEXT).input_ids)
    stream.finish()
    assert stream.text == TEXT
    assert "\ufffd" not in "".join(pieces)
    assert sum(piece == "" for piece in pieces) == sum(len(c.encode()) - 1 for c in TEXT)


def test_a_character_that_never_ends_is_shown_at_the_end() -> None:
    tokenizer = byte_tokenizer()
    stream = TextStream(tokenizer, [])
    assert _pieces(stream, tokenizer("\U0001f600").input_ids[:2]) == ["", ""]
    stream.finish()
    assert stream.text == "\ufffd"


def test_bytes_that_are_no_text_do_not_stop_what_follows() -> None:
    tokenizer = byte_tokenizer()
    stray = tokenizer("\u00e9").input_ids[:1]
    assert "".join(_pieces(TextStream(tokenizer, []), [*stray, *tokenizer("abc").input_ids])) == "\ufffdabc"


def test_special_tokens_are_not_shown() -> None:
    tokenizer = byte_tokenizer()
    stream = TextStream(tokenizer, [])
    _pieces(stream, tokenizer("a<|im_end|>").input_ids)
    stream.finish()
    assert stream.text == "a"


def test_a_pipe_gets_the_text_and_nothing_else() -> None:
    tokenizer = byte_tokenizer()
    console = _console(terminal=False)
    stream = TextStream(tokenizer, [], console)
    tokens = tokenizer(TEXT + "x" * 200).input_ids
    stream.write(tokens, [index % 2 == 0 for index in range(len(tokens))])
    stream.finish()
    assert console.file.getvalue() == TEXT + "x" * 200 + "\n"


def test_a_terminal_shows_where_tokens_came_from() -> None:
    tokenizer = byte_tokenizer()
    console = _console(terminal=True)
    stream = TextStream(tokenizer, [], console)
    stream.write(tokenizer("ab").input_ids, [True, False])
    stream.finish()
    assert console.file.getvalue() == "\x1b[32ma\x1b[0m\x1b[35mb\x1b[0m\n"


@pytest.mark.parametrize(("terminal", "shown"), [(True, "\u241b"), (False, "\x1b")])
def test_a_model_cannot_control_a_terminal(terminal: bool, shown: str) -> None:
    tokenizer = byte_tokenizer()
    console = _console(terminal)
    TextStream(tokenizer, [], console).write(tokenizer("\x1b").input_ids, [False])
    assert console.file.getvalue().replace("\x1b[35m", "").replace("\x1b[0m", "") == shown
