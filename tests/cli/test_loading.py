"""Prompts that the models cannot read are left out before the work, by every command that samples contexts."""

import json
from pathlib import Path

import pytest

from univer.cli import main

QUICK = ["--draft", "skip=1", "--contexts", "1", "--drafted", "1", "--new-tokens", "8", "--count", "2"]
LONG, SHORT = {"question_id": 5, "turns": ["word " * 3000]}, {"question_id": 6, "turns": ["A word."]}


@pytest.mark.parametrize("command", [["compare"], ["trace", "{place}"], ["reproduce", "depth", "--output", "{place}"]])
@pytest.mark.parametrize(("questions", "status"), [([LONG, SHORT], 0), ([LONG], 2)])
def test_prompts_that_are_too_long(
    command: list[str],
    questions: list[dict[str, object]],
    status: int,
    endless_directory: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(question) + "\n" for question in questions))
    name, *rest = (word.format(place=tmp_path / "out") for word in command)
    options = ["--questions" if name == "reproduce" else "--prompts", str(file), "--target", str(endless_directory)]
    narrow = [] if name == "reproduce" else ["--tree", "2x2", "--method", "univer"]
    assert main([name, *rest, *options, *narrow, *QUICK]) == status
    error = capsys.readouterr().err
    if status:
        assert "every prompt is too long" in error
        assert not (tmp_path / "out").exists()
    else:
        assert "left out, too long for the models: 5" in error
    if name == "reproduce" and not status:
        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
        assert manifest["settings"]["prompts"] == ["6"]
