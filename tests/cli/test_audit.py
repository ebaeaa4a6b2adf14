"""`univer audit`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from univer.bench.report import Selection, load_runs
from univer.bench.report.focus import main_row, sentence
from univer.cli.app import app, run


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "token", "--quick", "--cases", "2"]) == 0
    printed = capsys.readouterr().out
    row = next(line for line in printed.splitlines() if line.startswith("token"))
    assert row.split()[:4] == ["token", "drawn", "yes", "2"]
    assert "passed: the method is exact" in printed
    assert "at bound: cases without a gap" in printed
    assert "token attains the bound: depth 1" not in printed  # no such case among two


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "block", "--quick", "--cases", "2", "--json", "--dtype", "float64"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"]
    assert report["rows"][0]["error32"] is None


def test_lengths_beside_their_bounds_are_kept_for_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", "greedy", "univer", "--quick", "--cases", "2", "--output", str(tmp_path / "kept")]
    assert run(command) == 0
    [kept] = load_runs([tmp_path / "kept"])
    assert {row["method"] for row in kept.overall} == {"greedy", "univer", "univer (gain)"}
    gaps = {
        method: {
            record["prompt"]: record["bound"] - record["taus"][0]
            for record in kept.records
            if record["method"] == method
        }
        for method in ("greedy", "univer")
    }
    assert len(gaps["univer"]) >= 2
    assert min(gaps["univer"].values()) > -1e-9
    assert kept.finished
    said = "".join(sentence(main_row(kept, Selection()), kept.reference))
    assert said.startswith("UniVer (gain) comes within ")
    assert said.endswith("enumerated cases.")
    assert all(gaps["greedy"][case] >= gap - 1e-9 for case, gap in gaps["univer"].items())
    assert run(command) == 2
    assert "exists already: choose a new folder" in capsys.readouterr().err


def test_a_wrong_rule_of_somebody_else_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "their_rule.py").write_text("def always_the_target(tree, laws):\n    return laws / len(tree)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(["audit", "--function", "their_rule:always_the_target", "--cases", "2"]) == 1
    assert "FAULT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense", "--output", "kept"], "unknown method"),
        (["token", "token"], "named twice"),
        (["--draft-law", "swor"], "belongs to --function"),
        (["token", "--function", "a:b"], "not both"),
        (["--function", "nonsense"], "package.module:function"),
        (["--function", "a:b", "--dtype", "float32"], "does not go with"),
        (["--function", "a:b", "--output", "kept"], "does not go with"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["audit", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()


def test_help_shows_the_adapter() -> None:
    text = CliRunner().invoke(app, ["audit", "--help"]).output
    assert "def function(tree, target_laws)" in " ".join(text.split())
