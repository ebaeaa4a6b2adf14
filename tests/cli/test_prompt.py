"""Where the prompt comes from, and what tokens it becomes."""

import io
from pathlib import Path

import pytest

from tiny_models import byte_tokenizer
from univer.cli import main
from univer.cli.prompt import encode_prompt, read_prompt


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
    with pytest.raises(ValueError, match="give a prompt"):
        read_prompt(None, None)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(ValueError, match="empty"):
        read_prompt(None, None)
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


def test_a_chat_is_used_where_there_is_a_template_unless_said_otherwise() -> None:
    tokenizer = byte_tokenizer()
    raw = tokenizer("hi").input_ids
    turn = tokenizer("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n").input_ids
    assert encode_prompt(tokenizer, "hi", None).tolist() == [turn]
    assert encode_prompt(tokenizer, "hi", True).tolist() == [turn]
    assert encode_prompt(tokenizer, "hi", False).tolist() == [raw]
    tokenizer.chat_template = None
    assert encode_prompt(tokenizer, "hi", None).tolist() == [raw]
    with pytest.raises(ValueError, match="no chat template: use --raw"):
        encode_prompt(tokenizer, "hi", True)
