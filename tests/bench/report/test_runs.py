"""Run folders as reports read them."""

import json
from pathlib import Path

import pytest

from bench.report.made_up import replay_records, write_run
from univer.bench.folder import MANIFEST, RECORDS
from univer.bench.report import load_runs
from univer.bench.summary import summarise

FEW = replay_records(per_group=1, methods=("rrsw", "univer"), trees=("3x3",), temperatures=(1.0,))


def test_a_run_under_way_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", "replay", FEW[:3])
    with (tmp_path / "run" / RECORDS).open("a") as file:
        file.write('{"prompt": "cut o')
    (run,) = load_runs([tmp_path / "run"])
    assert (run.name, len(run.records), run.prompts, run.finished) == ("run", 3, 2, False)
    folder.finish(summarise(FEW[:3]))
    assert not load_runs([tmp_path / "run"])[0].finished


def test_a_finished_run_has_every_row_on_all_prompts(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "replay", FEW).finish(summarise(FEW))
    (run,) = load_runs([tmp_path / "run"])
    assert run.finished
    assert {row["prompts"] for row in run.overall} == {6}
    assert run.groups[0] == "mt_bench"


def test_runs_are_told_apart_by_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/x", "b/x", "b/y"):
        write_run(tmp_path / name, "replay", FEW[:2])
    assert [run.name for run in load_runs([tmp_path / "a" / "x", tmp_path / "b" / "y"])] == ["x", "y"]
    monkeypatch.chdir(tmp_path)
    assert [run.name for run in load_runs(["a/x", "b/x"])] == ["a/x", "b/x"]
    monkeypatch.chdir(tmp_path / "a" / "x")
    assert [run.name for run in load_runs(["."])] == ["x"]


def test_gains_over_a_reference_on_another_tree(tmp_path: Path) -> None:
    records = [*FEW, *({**record, "tree": "grow"} for record in FEW if record["method"] == "univer")]
    write_run(tmp_path / "run", "reproduce", records, experiment={"reference_tree": "3x3"})
    (run,) = load_runs([tmp_path / "run"])
    (row,) = [row for row in run.overall if row["tree"] == "grow"]
    assert row["reference_tree"] == "3x3"
    assert row["gain"]["value"] > 0


def test_signs_that_cannot_be_shown_are_replaced(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "replay", [FEW[0] | {"method": "a\x00b\ud800"}])
    (run,) = load_runs([tmp_path / "run"])
    assert run.overall[0]["method"] == "a\ufffdb\ufffd"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.rename(path.with_name("other")), "run is not there"),
        (lambda path: (path / MANIFEST).unlink(), "not the folder of a run"),
        (lambda path: (path / MANIFEST).write_text('{"format": 99}'), "format 99.*update univer"),
        (lambda path: (path / MANIFEST).write_text("{"), "cannot be read"),
        (lambda path: (path / RECORDS).write_text(""), "no records yet"),
        (lambda path: (path / RECORDS).unlink(), "no records yet"),
        (lambda path: (path / RECORDS).write_text('{"a": 1}\n'), "line 1 is no record"),
        (lambda path: (path / RECORDS).write_text(json.dumps(FEW[0] | {"taus": "x"}) + "\n"), "cannot be summarised"),
    ],
)
def test_bad_folders(tmp_path: Path, damage: object, message: str) -> None:
    path = tmp_path / "run"
    write_run(path, "replay", FEW[:1])
    damage(path)  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        load_runs([path])


def test_a_file_and_a_folder_given_twice(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "replay", FEW[:1])
    with pytest.raises(ValueError, match="is not a folder"):
        load_runs([tmp_path / "run" / RECORDS])
    with pytest.raises(ValueError, match="given twice"):
        load_runs([tmp_path / "run", tmp_path / "run" / ".." / "run"])
