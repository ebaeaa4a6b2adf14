"""What is printed, and files that results are written to."""

import re
from pathlib import Path

import pytest

from univer.cli import main
from univer.cli.terminal import check_new_file, progress


def test_a_file_that_can_be_written_is_not_there_yet(tmp_path: Path) -> None:
    check_new_file(tmp_path / "new" / "result.json")
    assert list((tmp_path / "new").iterdir()) == []


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "there.json"
    file.write_text("kept")
    for path in (file, tmp_path):
        with pytest.raises(ValueError, match="exists already; results are not overwritten: name another file"):
            check_new_file(path)
    for path in (file / "below.json", tmp_path / ("long" * 100)):
        with pytest.raises(ValueError, match="cannot be written"):
            check_new_file(path)
    assert file.read_text() == "kept"


@pytest.mark.parametrize("command", ["compare", "tune"])
def test_commands_refuse_it_before_a_model_is_loaded(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert main([command, "--target", str(tmp_path / "nowhere"), "--output", str(file / "result.json")]) == 2
    assert re.search(r"result\.json cannot be (written|made)", capsys.readouterr().err)


def test_found_30_lines_of_progress_say_how_long_it_still_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, *(60.0 * part for part in range(1, 9))])
    monkeypatch.setattr("univer.cli.terminal.time.monotonic", lambda: next(clock))
    with progress() as report:
        report("texts", 0, 4)
        report("texts", 1, 4)
    assert capsys.readouterr().err == "texts: 1 of 4, about 6 min left\n"
