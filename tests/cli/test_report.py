"""`univer report` from the command line."""

import io
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from bench.report.made_up import replay_records, write_run
from univer.cli import main

FEW = replay_records(per_group=1, methods=("rrsw", "univer"), trees=("3x3",), temperatures=(0.3, 0.6, 1.0))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder, in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("univer.bench.intervals.RESAMPLES", 99)
    write_run(tmp_path / "run", "replay", FEW)
    return tmp_path / "run"


def test_a_report_of_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "run"]) == 0
    sentence, about, where = capsys.readouterr().out.splitlines()
    assert sentence.startswith("UniVer on the tree 3x3 gets ")
    assert "temperature 1, 6 prompts of 6 task groups, exact outcome distributions of drafted trees" in about
    assert "the run is not finished" in about
    assert where == "report.html with 4 plots beside it"
    assert len(list(run.parent.glob("report*"))) == 5


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_terminal_that_lacks_signs_of_the_page(run: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, encoding=encoding, write_through=True))
    assert main(["report", "run", "--output", "seite-\u6f22.html"]) == 0
    sentence, _, where = printed.getvalue().decode(encoding).splitlines()
    assert re.search(r" gets \d+\.\d % more tokens .* \(95 % interval [+-]\d", sentence)
    assert where.startswith("seite-?.html with ")


def test_json_and_a_selection(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run), "--output", "some/page.html", "--temperature", "0.6", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["row"]["temperature"] == 0.6
    assert "temperature 0.6" in printed["about"]
    assert Path(printed["page"]).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert all(Path(image).is_file() for image in printed["images"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "error: nowhere does not exist"),
        (["."], ". is not the folder of a run: it has no manifest.json"),
        (["run", "run"], "run is given twice"),
        (["run", "--method", "unver"], "no run has the method 'unver'; there are rrsw, univer"),
        (["run", "--output", "."], ". is a folder"),
        (["run", "--output", "run/manifest.json"], "run/manifest.json exists already and is not a report"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_one_line(
    run: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *arguments]) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("runs: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert not (run.parent / "report.html").exists()


def test_ctrl_c_leaves_no_half_page(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("univer.bench.report.page"), "save_png", interrupted)
    assert main(["report", "run"]) == 130
    assert list(run.parent.glob("report*")) == []


def test_found_25_without_the_packages_it_says_what_to_install() -> None:
    script = "import sys; sys.modules['jinja2'] = None; from univer.cli import main; sys.exit(main(['report', 'run']))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "pip install 'univer[all]'" in finished.stderr
