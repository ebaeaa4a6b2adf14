"""`univer tune` on a tiny model, and its file in `generate` and `compare`."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tiny_models import save_tiny_llama
from univer.cli import main
from univer.drafting.growth.parse import parse_tree

QUICK = ["--count", "1", "--check", "1", "--contexts", "2", "--new-tokens", "8", "--repeats", "1"]
SMALL = ["--max-nodes", "6", "--max-depth", "3", "--width", "3"]


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("prompts") / "prompts.jsonl"
    file.write_text("\n".join(json.dumps({"text": text, "kind": "letters"}) for text in ("abc abc", "xyz", "aab b")))
    return file


def _arguments(directory: Path, prompts: Path, output: Path, *more: str) -> list[str]:
    where = ["--target", str(directory), "--device", "cpu", "--dtype", "float32"]
    return [
        "tune",
        *where,
        "--draft",
        "skip=1",
        "--prompts",
        str(prompts),
        "--output",
        str(output),
        *QUICK,
        *SMALL,
        *more,
    ]


@pytest.fixture(scope="module")
def tuned(endless_directory: Path, prompts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("tuned") / "new" / "tuned.json"
    assert main(_arguments(endless_directory, prompts, output, "--json")) == 0
    return output


def test_the_file_holds_the_choice_and_what_it_rests_on(tuned: Path) -> None:
    found = json.loads(tuned.read_text())
    assert parse_tree(found["tree"]).max_depth <= 4
    assert found["settings"]["draft"] == "skip=1"
    assert found["settings"]["method"] == "univer"
    assert found["costs"]["target"]["sizes"][0] == 1
    details = found["details"]
    assert details["predicted_tokens_per_second"] > 0
    assert {entry["source"] for entry in details["candidates"]} >= {"planned", "grow", "eagle2", "opt"}
    assert any("mean=" in entry["tree"] for entry in details["candidates"])
    assert all(sum(row) <= 1.0001 for table in details["acceptance"] for row in table)
    check = details["check"]
    assert len(check["tokens"]) == 1
    assert check["error"] == pytest.approx(check["predicted_speed"] / check["measured_speed"] - 1)
    assert details["interrupted"] is False


def test_tables_for_people(
    endless_directory: Path, prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "tuned.json"
    options = ["--method", "membership", "--temperature", "0", "--order", "drawn"]
    assert main(_arguments(endless_directory, prompts, output, *options)) == 0
    printed = capsys.readouterr().out
    for words in (
        "Cost of a pass",
        "Probability that a child is accepted",
        "plain decoding",
        "\nchosen ",
        "\ncheck ",
        "\npredicted ",
    ):
        assert words in printed
    assert f"--tuned {output}" in printed


def test_generate_takes_the_file(tuned: Path, endless_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--target", str(endless_directory), "--device", "cpu", "--dtype", "float32", "--tuned", str(tuned)]
    command = ["generate", "abc abc", *where, "--max-new-tokens", "12"]
    assert main([*command, "--json"]) == 0
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert captured.err == ""
    assert report["stats"]["draft"] == "skip=1"
    assert report["predicted_tokens_per_second"] > 0
    assert main([*command, "--temperature", "0.5"]) == 0
    captured = capsys.readouterr()
    assert "\npredicted " in captured.out
    assert "temperature 0.5 instead of 1.0" in captured.err


def test_compare_takes_the_file(tuned: Path, endless_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = ["--count", "1", "--contexts", "1", "--drafted", "1", "--new-tokens", "8", "--json"]
    where = ["--target", str(endless_directory), "--device", "cpu", "--dtype", "float32"]
    assert main(["compare", *where, "--tuned", str(tuned), *quick]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"]["draft"] == "skip=1"
    rows = found["summary"]["rows"]
    assert "univer" in {row["method"] for row in rows}
    assert {row["tree"] for row in rows} == {json.loads(tuned.read_text())["tree"]}


@pytest.mark.parametrize(
    ("command", "extra", "message"),
    [
        ("generate", ["--draft", "skip=0"], "made for the draft skip=1, not skip=0"),
        ("generate", ["--method", "rrsw"], "made for the method univer, not rrsw"),
        ("generate", ["--tree", "2x2"], "--tree or --tuned, not both"),
        ("compare", ["--draft", "skip=0"], "made for the draft skip=1, not skip=0"),
        ("compare", ["--tree", "2x2"], "--tree or --tuned, not both"),
    ],
)
def test_what_the_file_was_not_made_for_is_refused(
    command: str,
    extra: list[str],
    message: str,
    tuned: Path,
    endless_directory: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prompt = ["abc"] if command == "generate" else []
    assert main([command, *prompt, "--target", str(endless_directory), "--tuned", str(tuned), *extra]) == 2
    assert message in capsys.readouterr().err


def test_another_target_is_refused(
    tuned: Path, endless_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_tiny_llama(tmp_path / "other", seed=5)
    assert main(["generate", "abc", "--target", str(tmp_path / "other"), "--tuned", str(tuned)]) == 2
    assert f"made for the target {endless_directory} (" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--method", "unver"], "unknown method 'unver'"),
        (["--order", "sideways"], "'sideways' is not one of"),
        (["--temperature", "-1"], "temperature"),
        (["--prompts", "nowhere.jsonl"], "no file nowhere.jsonl"),
        (["--draft", "skip=9"], "layers 0 to 2"),
        (["--new-tokens", "600"], "leaves room for"),
    ],
)
def test_bad_input_is_one_line(
    extra: list[str],
    message: str,
    endless_directory: Path,
    prompts: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(_arguments(endless_directory, prompts, tmp_path / "tuned.json", *extra)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_file_that_tune_did_not_write_is_not_overwritten(
    endless_directory: Path, prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "notes.json"
    output.write_text('{"notes": 1}')
    assert main(_arguments(endless_directory, prompts, output)) == 2
    assert "not overwritten" in capsys.readouterr().err
    assert output.read_text() == '{"notes": 1}'


def test_found_30_tune_a_second_time_replaces_its_default_file_and_says_how_long_it_takes(
    endless_directory: Path,
    prompts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = _arguments(endless_directory, prompts, Path("tuned.json"))
    assert main(arguments) == 0
    first = json.loads(Path("tuned.json").read_text())
    progress = capsys.readouterr().err
    assert re.match(r"tuning takes about \d+ s here", progress)
    stages = re.findall(r"^([a-z ]+): (\d+) of (\d+)", progress, flags=re.MULTILINE)
    assert len({total for _, _, total in stages}) == 1
    assert [int(done) for _, done, _ in stages] == sorted(int(done) for _, done, _ in stages)
    assert stages[-1][1] == stages[-1][2]
    assert main([*arguments, "--seed", "7"]) == 0
    assert first["settings"]["seed"] == 0
    assert json.loads(Path("tuned.json").read_text())["settings"]["seed"] == 7


def test_found_30_tune_interrupted_before_a_choice_keeps_a_finished_result(
    tuned: Path,
    endless_directory: Path,
    prompts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    output = tmp_path / "tuned.json"
    output.write_text(tuned.read_text())
    monkeypatch.setattr(import_module("univer.tuning").Tuning, "measure", interrupted)
    assert main(_arguments(endless_directory, prompts, output)) == 130
    assert "keeps the result of an earlier run" in capsys.readouterr().out
    assert output.read_text() == tuned.read_text()


def test_ctrl_c_keeps_what_was_measured(
    endless_directory: Path,
    prompts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("univer.tuning").Tuning, "measure", interrupted)
    output = tmp_path / "tuned.json"
    assert main(_arguments(endless_directory, prompts, output)) == 130
    assert "before a tree was chosen" in capsys.readouterr().out
    found = json.loads(output.read_text())
    assert found["tree"] is None
    assert found["details"]["interrupted"] is True
    assert found["details"]["acceptance"]
    assert found["costs"]["plain"] > 0
    assert main(["generate", "abc", "--target", str(endless_directory), "--tuned", str(output)]) == 2
    assert "interrupted before a tree was chosen" in capsys.readouterr().err


def test_ctrl_c_at_once_leaves_no_file(
    endless_directory: Path, prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("univer.tuning.tuner"), "time_rounds", interrupted)
    output = tmp_path / "tuned.json"
    assert main(_arguments(endless_directory, prompts, output)) == 130
    assert not output.exists()
