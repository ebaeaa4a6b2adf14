"""Where the prompt comes from, and what tokens it becomes."""

import io
from pathlib import Path

import pytest

from tiny_models import byte_tokenizer
from univer.cli import main
from univer.cli.prompt import encode_messages, read_prompt, read_prompts, with_template


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_argument_a_file_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("from a file: caf\u00e9\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO("from stdin\n"))
    assert read_prompt("an argument", None) == "an argument"
    assert read_prompt(None, file) == "from a file: caf\u00e9\n"
    assert read_prompt("-", None) == "from stdin\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("again"))
    assert read_prompt(None, None) == "again"


def test_what_is_no_prompt_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", _Terminal())
    with pytest.raises(ValueError, match="empty"):
        read_prompt(" ", None)
    broken = tmp_path / "latin.txt"
    broken.write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match="cannot be read"):
        read_prompt(None, broken)


def test_bytes_that_are_not_utf_8_are_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for errors in ("strict", "surrogateescape"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8", errors=errors))
        with pytest.raises(ValueError, match="not UTF-8"):
            read_prompt(None, None)
    assert main(["generate", "\udcff hi"]) == 2
    assert capfd.readouterr().err.startswith("univer: error: the prompt is not UTF-8")


@pytest.mark.parametrize("stdin", [_Terminal(), io.StringIO("")])
def test_found_30_without_a_prompt_the_message_shows_how_to_give_one(
    stdin: io.StringIO, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["generate"]) == 2
    assert 'usage: univer generate "Why is the sky blue?"' in capsys.readouterr().err


def test_found_31_several_prompts_from_a_file(tmp_path: Path) -> None:
    lines = tmp_path / "prompts.txt"
    lines.write_text("one\n\n  two \n", encoding="utf-8")
    assert read_prompts(lines) == [["one"], ["two"]]
    questions = tmp_path / "prompts.jsonl"
    questions.write_text('{"text": "one"}\n{"turns": ["two", "three"]}\n', encoding="utf-8")
    assert sorted(read_prompts(questions)) == [["one"], ["two", "three"]]
    lines.write_text("\n")
    with pytest.raises(ValueError, match="holds no prompts"):
        read_prompts(lines)


def test_a_chat_is_used_where_there_is_a_template_unless_said_otherwise() -> None:
    tokenizer = byte_tokenizer()
    raw = tokenizer("hi").input_ids
    turn = tokenizer("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n").input_ids
    message = [{"role": "user", "content": "hi"}]
    assert encode_messages(tokenizer, message, True).tolist() == [turn]
    assert encode_messages(tokenizer, message, False).tolist() == [raw]
    assert with_template(tokenizer, None, False)
    assert with_template(tokenizer, True, True)
    assert not with_template(tokenizer, False, False)
    with pytest.raises(ValueError, match="leave --raw out"):
        with_template(tokenizer, False, True)
    tokenizer.chat_template = None
    assert not with_template(tokenizer, None, False)
    for chat, conversation in ((True, False), (None, True)):
        with pytest.raises(ValueError, match="no chat template: use --raw"):
            with_template(tokenizer, chat, conversation)
