"""`univer replay` on a trace of a tiny model."""

import json
import re
from pathlib import Path

import pytest

from univer.bench.folder import RunFolder
from univer.cli import main

METHODS = ["--method", "rrsw", "--method", "univer", "--method", "univer:gain"]


@pytest.fixture(scope="module")
def trace(endless_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay") / "trace"
    quick = [
        "--count",
        "2",
        "--contexts",
        "2",
        "--drafted",
        "1",
        "--new-tokens",
        "8",
        "--tree",
        "2x2",
    ]
    assert main(["trace", str(folder), "--target", str(endless_directory), "--draft", "skip=1", *quick, *METHODS]) == 0
    return folder


def test_the_table(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(trace)]) == 0
    heading, *rows, settings = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["T", "tree", "method"]
    assert [re.split("  +", row)[2] for row in rows if row] == ["rrsw", "univer", "univer (gain)"]
    assert "2 prompts, 2 contexts each, 1 drafted tree per context, seed 0, fewer than 6 prompts" in settings


def test_a_run_folder_holds_the_records_and_is_resumed(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(["replay", str(trace), "--method", "univer", "--output", str(run), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert RunFolder(run).records == printed["records"]
    assert main(["replay", str(trace), "--method", "univer", "--order", "descending", "--output", str(run)]) == 0
    folder = RunFolder(run)
    assert folder.records[:2] == printed["records"]
    assert [record["method"] for record in folder.records[2:]] == ["univer (descending)"] * 2
    summary = json.loads((run / "summary.json").read_text())
    assert {row["method"] for row in summary["rows"]} == {"univer", "univer (descending)"}


def test_a_reference_that_was_recorded_before_counts(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["replay", str(trace), "--output", str(tmp_path / "run"), "--method"]
    assert main([*command, "rrsw"]) == 0
    capsys.readouterr()
    assert main([*command, "univer"]) == 0
    heading, line, *_ = capsys.readouterr().out.splitlines()
    assert "gain over rrsw" in heading
    assert line.split()[:3] == ["1", "2x2", "univer"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["--method", "spectr"],
            "lacks: it was recorded for rrsw, univer, univer:gain; record one with --method spectr",
        ),
        (["--tree", "3x3"], "the trace has no tree '3x3'"),
        (["--order", "gain"], "--order goes with --method"),
    ],
)
def test_bad_input_is_one_line(trace: Path, extra: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(trace), *extra]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path)]) == 2
    assert "is not the folder of a trace" in capsys.readouterr().err
