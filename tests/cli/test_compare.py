"""`univer compare` on a tiny model."""

import json
import re
import shutil
from importlib import import_module
from pathlib import Path

import pytest

from univer.bench.folder import RunFolder
from univer.cli import main

QUICK = ["--count", "2", "--contexts", "2", "--drafted", "1", "--new-tokens", "10", "--tree", "2x2"]


@pytest.fixture
def arguments(endless_directory: Path) -> list[str]:
    return ["compare", "--target", str(endless_directory), "--draft", "skip=1", *QUICK]


def test_the_table(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--method", "rrsw", "--method", "univer", "--method", "univer:gain"]) == 0
    heading, *rows, empty, settings = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["T", "tree", "method"]
    assert [re.split("  +", row)[2:4] for row in rows] == [
        ["rrsw", "swor"],
        ["univer", "greedy"],
        ["univer (gain)", "greedy"],
    ]
    assert not empty
    assert "2 prompts (our own), 2 contexts each, 1 drafted tree per context, seed 0" in settings


def test_json_and_a_run_folder_that_is_resumed(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["--json", "--output", str(tmp_path / "run")]
    assert main([*arguments, "--method", "univer", *run]) == 0
    printed = json.loads(capsys.readouterr().out)
    folder = RunFolder(tmp_path / "run")
    assert (folder.manifest["kind"], folder.records) == ("compare", printed["records"])
    assert {row["method"] for row in printed["summary"]["rows"]} == {"univer"}
    assert main([*arguments, "--method", "univer", "--method", "univer:gain", *run]) == 0
    again = json.loads(capsys.readouterr().out)["records"]
    assert again[:2] == printed["records"]
    assert [record["method"] for record in again[2:]] == ["univer (gain)"] * 2
    assert main([*arguments, "--method", "univer", *run, "--seed", "1"]) == 2
    assert "other settings: seed = 0 (now 1)" in capsys.readouterr().err
    (tmp_path / "file").write_text("mine")
    assert main([*arguments, "--output", str(tmp_path / "file")]) == 2
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--temperature", "0"], "at temperature 0 every exact method"),
        (["--method", "unver"], "unknown method 'unver'"),
        (["--method", "univer:foo", "--target", "nowhere"], "unknown sibling order 'foo'"),
        (["--tree", "2y2"], "unknown tree"),
        (["--draft", "lookup"], "fixed tokens only"),
        (["--prompts", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *extra]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "Traceback" not in error


def test_ctrl_c_keeps_what_there_is(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("univer.bench.measure")
    original, calls = module.contexts, []

    def interrupted(*given: object, **named: object) -> object:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return original(*given, **named)

    monkeypatch.setattr(module, "contexts", interrupted)
    assert main([*arguments, "--method", "univer", "--json"]) == 130
    printed = json.loads(capsys.readouterr().out)
    assert printed["interrupted"] is True
    assert len(printed["records"]) == 1


def test_a_configuration_that_is_not_supported_can_be_gone_without(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "penalized"
    shutil.copytree(arguments[2], directory)
    file = directory / "generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"repetition_penalty": 1.3}))
    compare = ["compare", "--target", str(directory), *arguments[3:], "--method", "univer"]
    generate = ["generate", "abc", "--target", str(directory), "--draft", "lookup", "--max-new-tokens", "4"]
    assert main(compare) == 2
    assert "repetition_penalty=1.3" in (error := capsys.readouterr().err)
    assert error.strip().endswith("--ignore-config leaves it out")
    assert main([*compare, "--ignore-config"]) == 0
    assert main(generate) == 0, "generation applies it"
    capsys.readouterr()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"num_beams": 3}))
    assert main(generate) == 2
    assert "num_beams=3" in (error := capsys.readouterr().err)
    assert error.strip().endswith("--ignore-config leaves it out")
    assert main([*generate, "--ignore-config"]) == 0


def test_found_27_a_gain_is_not_shown_without_an_interval(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    few = [*arguments, "--tree", "2x5", "--method", "rrsw", "--method", "univer"]
    assert main(few) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert re.split("  +", heading) == [
        "T",
        "tree",
        "method",
        "scheme",
        "nodes",
        "tau",
        "gain over rrsw",
        "paper",
        "prompts",
    ]
    univer = re.split("  +", rows[3])
    assert univer[:4] == ["1", "2x5", "univer", "greedy"]
    assert univer[-3:] == ["-", "+7.5%", "2"]
    assert main([*few, "--json"]) == 0
    tau = json.loads(capsys.readouterr().out)["summary"]["rows"][0]["tau"]
    assert tau["low"] is tau["high"] is None
