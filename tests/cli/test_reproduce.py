"""`univer reproduce` on a tiny model."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from univer.bench.folder import RunFolder
from univer.bench.summary import summarise
from univer.cli import main

QUICK = ["--count", "1", "--new-tokens", "12"]
CONTEXTS = ["--contexts", "2"]
QUESTIONS = [
    {"question_id": 81, "category": "writing", "turns": ["Write a line about rain.", "And one about sun."]},
    {"question_id": 321, "category": "qa", "turns": ["Who drew this map?"]},
]


@pytest.fixture
def models(endless_directory: Path, tmp_path: Path) -> list[str]:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    return ["--target", str(endless_directory), "--draft", "skip=1", "--questions", str(questions), *QUICK]


def test_depth_measures_every_tree_once_and_shows_the_trend(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run"
    assert main(["reproduce", "depth", *models, *CONTEXTS, "--output", str(place)]) == 0
    shown = capsys.readouterr().out
    [trend] = [line for line in shown.splitlines() if line.startswith("univer, 2x2 to 2x5: ")]
    assert trend.endswith(": too few prompts to speak of a trend")
    assert "fewer than 6 prompts, so without intervals" in shown
    assert "other models on other hardware" in shown
    records = RunFolder(place).records
    assert {record["tree"] for record in records} == {"2x2", "2x3", "2x4", "2x5"}
    assert len(records) == 2 * 4 * 5  # prompts, trees, methods
    assert all(len(record["taus"]) == 2 * 4 for record in records)  # contexts, trees of each law
    for record in records:
        tau = sum(record["taus"]) / len(record["taus"])
        assert tau == pytest.approx(1 + sum(record["survival"]), abs=1e-5)


def test_the_main_table_stands_beside_the_paper(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run"
    assert main(["reproduce", "main-table", *models, *CONTEXTS, "--output", str(place), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    paper = {row["method"]: row for row in printed["summary"]["paper"]}
    assert {name: row["paper"] for name, row in paper.items()} == {"traversal": 0.023, "greedy": 0.049, "univer": 0.075}
    row = paper["univer"]
    assert row["difference"] == pytest.approx(row["gain"]["value"] - 0.075)
    [grown] = [row for row in printed["summary"]["rows"] if row["group"] == "all" and row["tree"].startswith("grow")]
    assert grown["reference_tree"] == "2x5"
    assert grown["gain"] is not None
    assert printed["settings"]["draft"] == "skip=1"
    assert json.loads((place / "summary.json").read_text()) == printed["summary"]


def test_a_run_that_was_cut_short_resumes_to_the_same_records(models: list[str], tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    arguments = ["reproduce", "depth", *models, *CONTEXTS, "--output"]
    assert main([*arguments, str(whole)]) == 0
    assert main([*arguments, str(cut)]) == 0
    lines = (cut / "records.jsonl").read_text().splitlines(keepends=True)
    (cut / "records.jsonl").write_text("".join(lines[:27]) + lines[27][:20])
    (cut / "summary.json").unlink()
    assert main([*arguments, str(cut)]) == 0
    first, second = RunFolder(whole).records, RunFolder(cut).records
    assert first == second
    assert summarise(first) == summarise(second)


def test_overhead_shows_what_verification_costs_beside_the_target(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "overhead", *models, "--output", str(tmp_path / "run")]) == 0
    heading = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("tree"))
    assert "distributions + verification / target" in heading


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown experiment 'nothing'; there are main-table"),
        (["depth", "--draft", "lookup"], "fixed tokens only"),
        (["depth", "--questions", "nowhere.jsonl"], "nowhere.jsonl"),
        (["depth", "--new-tokens", "100000"], "every prompt is too long"),
        (["overhead", *CONTEXTS], "do not belong to it"),
    ],
)
def test_bad_input_is_one_line(
    models: list[str], arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = arguments
    assert main(["reproduce", name, *models, *options, "--output", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()


def copied(models: list[str], place: Path) -> Path:
    """A copy of the target, of the same name, to be changed."""
    return shutil.copytree(models[1], place / "other" / Path(models[1]).name)


def test_other_weights_of_the_same_name_do_not_go_into_the_same_folder(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run"
    other = copied(models, tmp_path)
    weights = load_file(other / "model.safetensors")
    weights["model.norm.weight"] *= 1.1
    save_file(weights, other / "model.safetensors", {"format": "pt"})
    arguments = [*CONTEXTS, "--output", str(place)]
    assert main(["reproduce", "depth", *models, *arguments]) == 0
    before = (place / "records.jsonl").read_text()
    assert main(["reproduce", "depth", "--target", str(other), *models[2:], *arguments]) == 2
    assert "the weights of the models differ, though their names are the same" in capsys.readouterr().err
    assert (place / "records.jsonl").read_text() == before


def test_another_chat_template_does_not_go_into_the_same_folder(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run"
    other = copied(models, tmp_path)
    template = other / "chat_template.jinja"
    template.write_text("Answer. " + template.read_text())
    arguments = [*CONTEXTS, "--output", str(place)]
    assert main(["reproduce", "depth", *models, *arguments]) == 0
    assert main(["reproduce", "depth", "--target", str(other), *models[2:], *arguments]) == 2
    assert "the token ids of the prompts differ (another tokenizer or chat template)" in capsys.readouterr().err


def test_a_run_that_the_user_ended_says_how_many_prompts_it_saw(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: RunFolder, record: dict[str, Any]) -> None:
        if len(self.records) == 20:  # all rows of the first prompt
            raise KeyboardInterrupt
        append(self, record)

    append = RunFolder.append
    monkeypatch.setattr(RunFolder, "append", interrupted)
    assert main(["reproduce", "depth", *models, *CONTEXTS, "--output", str(tmp_path / "run")]) == 130
    shown = capsys.readouterr().out
    assert "1 of 2 prompts (questions.jsonl), 2 contexts each, 4 drafted trees per context, seed 0, fewer" in shown


def test_other_settings_do_not_go_into_the_same_folder(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["reproduce", "depth", *models, *CONTEXTS, "--output", str(tmp_path / "run")]
    assert main(arguments) == 0
    assert main([*arguments, "--seed", "1"]) == 2
    assert "choose another folder" in capsys.readouterr().err
