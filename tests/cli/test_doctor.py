"""`univer doctor` on tiny models."""

import json
from pathlib import Path

import pytest

from univer.cli import main


def _arguments(directory: Path, *more: str) -> list[str]:
    return ["doctor", "--target", str(directory), "--new-tokens", "6", "--device", "cpu", *more]


@pytest.mark.parametrize("draft", ["first=1", "lookup", "model"])
def test_a_sound_pair(draft: str, tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = str(tiny_directory) if draft == "model" else draft
    assert main(_arguments(tiny_directory, "--draft", draft, "--dtype", "bfloat16")) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert all(line.startswith("ok ") for line in lines)
    assert [line.split(": ")[0].split("  ")[-1].strip() for line in lines][-2:] == [
        "identity in float32",
        "identity in bfloat16",
    ]
    assert "identity in float32: 3 of 3" in output.err


def test_one_object(tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_arguments(tiny_directory, "--draft", "first=1", "--dtype", "float32", "--json")) == 0
    output = capsys.readouterr()
    report = json.loads(output.out)
    assert output.err == ""
    assert report["sound"] is True
    assert report["draft"] == "first=1"
    assert report["identities"][0]["tokens"] == 18


def test_errors_give_status_1(tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_arguments(tiny_directory, "--draft", "first=9")) == 1
    assert "\nerror    draft: " in capsys.readouterr().out


def test_bad_input_gives_status_2(tiny_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_arguments(tiny_directory, "--draft", "nowhere")) == 2
    assert main(_arguments(tiny_directory, "--tree", "oak")) == 2
    assert "oak" in capsys.readouterr().err
