"""`univer bench spec-bench` on a tiny model."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from univer.bench.folder import RunFolder
from univer.cli import main

QUESTIONS = [
    {"question_id": 81, "category": "writing", "turns": ["Write a poem.", "Again."]},
    {"question_id": 111, "category": "math", "turns": ["Add two and two.", "And two."]},
    {"question_id": 301, "category": "qa", "turns": ["Who?"]},
    {"question_id": 302, "category": "qa", "turns": ["When and where?"]},
]


@pytest.fixture
def arguments(tiny_directory: Path, tmp_path: Path) -> list[str]:
    questions = tmp_path / "question.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in QUESTIONS), encoding="utf-8")
    model = ["--target", str(tiny_directory), "--dtype", "float32", "--draft", "skip=1", "--tree", "2x2"]
    return ["bench", "spec-bench", "--questions", str(questions), *model, "--tokens", "8", "--seed", "3"]


def untimed(summary: dict[str, Any]) -> dict[str, Any]:
    timed = ("rate", "speedup", "phases")
    rows = [{name: value for name, value in row.items() if name not in timed} for row in summary["rows"]]
    return summary | {"rows": rows}


def test_tables_have_methods_as_rows_and_task_groups_as_columns(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--method", "rrsw", "--method", "univer:gain", "--count", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [place for place, line in enumerate(lines) if "temperature 1" in line]
    assert [lines[place].partition(",")[0] for place in titles] == [
        "tau",
        "gain in tau over rrsw",
        "tokens per second without the prefill",
        "speed-up over plain decoding",
        "acceptance at a depth given that it was reached",
    ]
    columns = ["draft", "tree", "method", "multi-turn conversation (1)", "qa (1)", "all (2)"]
    assert re.split("  +", lines[titles[0] + 1]) == columns
    assert [line.split()[:3] for line in lines[titles[0] + 2 : titles[0] + 4]] == [
        ["skip=1", "2x2", "rrsw"],
        ["skip=1", "2x2", "univer"],
    ]
    assert "plain" in lines[titles[2] + 2]
    assert "2 prompts (question.jsonl), 8 new tokens a turn, seed 3" in lines[-1]


def test_a_killed_run_resumes_to_the_same_summary(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ["--method", "rrsw", "--method", "univer", "--temperature", "0", "--temperature", "1"]
    run = [*arguments, *methods, "--count", "1", "--json"]
    assert main([*run, "--output", str(tmp_path / "whole")]) == 0
    printed = json.loads(capsys.readouterr().out)
    whole = RunFolder(tmp_path / "whole")
    assert whole.manifest["settings"]["prompts"] == ["111", "302"], "those drawn by the seed"
    assert whole.manifest["settings"]["questions"] == "question.jsonl"
    # What a killed process leaves: no summary, and a line that was not written to its end.
    killed = tmp_path / "killed"
    killed.mkdir()
    shutil.copy(whole.path / "manifest.json", killed)
    lines = (whole.path / "records.jsonl").read_text().splitlines(keepends=True)
    assert len(lines) == 2 * 2 * 3
    (killed / "records.jsonl").write_text("".join(lines[:4]) + lines[4][:50])
    assert main([*run, "--output", str(killed)]) == 0
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in (whole.path, killed)]
    assert untimed(summaries[0]) == untimed(summaries[1])
    assert summaries[0]["disagreements"] == []
    assert printed["summary"] == summaries[0]
    assert (killed / "records.jsonl").read_text().startswith("".join(lines[:4]))
    capsys.readouterr()
    assert main([*run, "--output", str(killed), "--seed", "4"]) == 2
    assert "seed = 3 (now 4)" in capsys.readouterr().err


def test_other_generation_settings_do_not_go_into_the_same_folder(
    arguments: list[str], tiny_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--method", "univer", "--count", "1", "--output", str(tmp_path / "run")]
    assert main([*arguments, *more]) == 0
    other = tmp_path / "other" / tiny_directory.name
    shutil.copytree(tiny_directory, other)
    settings = json.loads((other / "generation_config.json").read_text())
    (other / "generation_config.json").write_text(json.dumps(settings | {"repetition_penalty": 3.0}))
    arguments[arguments.index("--target") + 1] = str(other)
    assert main([*arguments, *more]) == 2
    assert "generation.repetition_penalty = None (now 3.0)" in capsys.readouterr().err


def test_ctrl_c_keeps_what_there_is(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    append, folder = RunFolder.append, tmp_path / "run"

    def interrupted(self: RunFolder, record: dict[str, Any]) -> None:
        append(self, record)
        if len(self.records) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "append", interrupted)
    run = [*arguments, "--method", "rrsw", "--method", "univer", "--count", "1", "--output", str(folder)]
    assert main(run) == 130
    assert "Interrupted: these are the figures so far" in capsys.readouterr().out
    assert len(RunFolder(folder).records) == 3
    assert json.loads((folder / "summary.json").read_text())["rows"]
    assert main(run) == 0
    assert len(RunFolder(folder).records) == 6


def test_what_is_left_out_is_said_before_the_work(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    long = [*arguments, "--method", "rrsw", "--method", "univer", "--tree", "eagle2:nodes=3,depth=1"]
    assert main([*long, "--groups", "qa", "--count", "1", "--json"]) == 0
    captured = capsys.readouterr()
    assert "left out: rrsw on the tree eagle2:nodes=3,depth=1: the method 'rrsw' needs a tree" in captured.err
    methods = {(record["tree"], record["method"]) for record in json.loads(captured.out)["records"]}
    assert methods == {(None, "plain"), ("2x2", "rrsw"), ("2x2", "univer"), ("eagle2:nodes=3,depth=1", "univer")}


def test_prompts_that_do_not_fit_are_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with Path(arguments[3]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"question_id": 401, "category": "rag", "turns": ["x" * 500]}) + "\n")
    few = [*arguments, "--method", "univer", "--json", "--groups", "rag"]
    assert main([*few, "--groups", "qa"]) == 0
    captured = capsys.readouterr()
    assert "left out: 1 of 3 prompts, which with answers of 8 tokens are longer than the models read" in captured.err
    assert "read: 401" in captured.err
    assert sorted(json.loads(captured.out)["settings"]["prompts"]) == ["301", "302"]
    assert main(few) == 2
    assert "every prompt is longer than the models read, the shortest by" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--temperature", "-1"], "temperature must be 0"),
        (["--temperature", "1", "--temperature", "1"], "a temperature is given twice"),
        (["--top-p", "2"], "top_p must be in (0, 1]"),
        (["--method", "unver"], "unknown method 'unver'"),
        (["--groups", "poetry"], "there is no task group 'poetry'; there are multi-turn conversation, qa"),
        (["--tokens", "3"], "ask for at least 4 tokens"),
        (["--workers", "2"], "--workers needs --ray"),
        (["--draft", "lookup", "--method", "rrsw"], "none of the methods can use the draft lookup"),
        (["--questions", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *extra]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "Traceback" not in error
    assert error.count("\n") == 0
