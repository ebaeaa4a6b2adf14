"""`univer replay` on a trace of a tiny model."""

import json
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
        "--tail",
        "0.001",
    ]
    assert main(["trace", str(folder), "--target", str(endless_directory), "--draft", "skip=1", *quick, *METHODS]) == 0
    return folder


def test_the_table(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(trace)]) == 0
    heading, *rows, settings = capsys.readouterr().out.splitlines()
    assert heading.split()[:2] == ["tree", "method"]
    assert [row.split("  ")[1].strip() for row in rows] == ["rrsw", "univer", "univer (gain)"]
    assert all(0 < float(row.split()[-1]) < 0.5 for row in rows)
    assert "2 of 2 prompts, 2 contexts each" in settings
    assert settings.endswith("rows lack at most 0.001 of their mass; fewer than 6 prompts, so without intervals")


def test_a_run_folder_holds_the_records_and_is_gone_on_with(
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
    [line] = [line for line in capsys.readouterr().out.splitlines() if "univer" in line]
    assert "%" in line


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            ["--method", "spectr"],
            "lacks: it was recorded for rrsw, univer, univer:gain; record one with --method spectr",
        ),
        (["--tree", "3x3"], "the trace has no tree '3x3'"),
        (["--order", "gain"], "--order goes with --method"),
        (["--method", "optimal"], "no error bound is known for the method 'optimal'"),
    ],
)
def test_bad_input_is_one_line(trace: Path, extra: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(trace), *extra]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path)]) == 2
    assert "is not the folder of a trace" in capsys.readouterr().err
