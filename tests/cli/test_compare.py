"""`univer compare` on a tiny model."""

import json
import shutil
from importlib import import_module
from pathlib import Path

import pytest

from univer.cli import main

QUICK = ["--count", "2", "--contexts", "2", "--drafted", "1", "--new-tokens", "10", "--tree", "2x2"]


@pytest.fixture
def arguments(endless_directory: Path) -> list[str]:
    return ["compare", "--target", str(endless_directory), "--draft", "skip=1", *QUICK]


def test_the_table(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--method", "rrsw", "--method", "univer", "--method", "univer:gain"]) == 0
    heading, *rows, settings = capsys.readouterr().out.splitlines()
    assert heading.split()[:2] == ["tree", "method"]
    assert [" ".join(row.split()[1:3]) for row in rows] == ["rrsw swor", "univer greedy", "univer (gain)"]
    assert "temperature 1.0, 2 prompts, 2 contexts each" in settings


def test_json_and_a_file_that_is_not_overwritten(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results" / "one.json"
    assert main([*arguments, "--method", "univer", "--json", "--output", str(file)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(file.read_text())
    assert [row["name"] for row in printed["rows"]] == ["univer"]
    assert main([*arguments, "--output", str(file)]) == 2
    assert "not overwritten" in capsys.readouterr().err


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
    module = import_module("univer.bench.compare")
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
    assert error.strip().endswith("use --ignore-config to go without it")
    assert main([*compare, "--ignore-config"]) == 0
    assert main(generate) == 0, "generation applies it"
    capsys.readouterr()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"num_beams": 3}))
    assert main(generate) == 2
    assert "num_beams=3" in (error := capsys.readouterr().err)
    assert error.strip().endswith("use --ignore-config to go without it")
    assert main([*generate, "--ignore-config"]) == 0


def test_one_prompt_has_no_interval(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    one = [*arguments, "--count", "1", "--method", "rrsw", "--method", "univer"]
    assert main(one) == 0
    reference, univer = capsys.readouterr().out.splitlines()[1:3]
    assert reference.split()[-1] == "-"
    assert univer.split().count("-") == 2
    assert main([*one, "--json"]) == 0
    tau = json.loads(capsys.readouterr().out)["rows"][0]["tau"]
    assert tau["low"] is tau["high"] is None
