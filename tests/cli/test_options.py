"""Options that several commands share."""

from pathlib import Path

import pytest

from univer.cli import main

COMMANDS = [
    ["generate", "abc"],
    ["compare"],
    ["doctor"],
    ["tune"],
    ["trace", "folder"],
    ["reproduce", "depth"],
    ["bench", "spec-bench"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("draft", ["", " "])
def test_an_empty_name_of_a_draft_is_refused_before_a_model_is_loaded(
    command: list[str], draft: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--target", str(tmp_path / "nowhere"), "--draft", draft]) == 2
    error = capsys.readouterr().err
    assert "'--draft': the name is empty: leave the option out for the default" in error
