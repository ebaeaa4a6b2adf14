"""Run folders as reports read them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.report.made_up import replay_records, write_run
from univer.bench.folder import MANIFEST, RECORDS
from univer.bench.report import load_runs, write_report
from univer.bench.report.facts import facts
from univer.bench.summary import summarise

FEW = replay_records(per_group=1, methods=("rrsw", "univer"), trees=("3x3",), temperatures=(1.0,))


def second(path: Path, changed: dict[str, object]) -> None:
    """A sound record, then one with changes."""
    records = (FEW[0], FEW[1] | changed)
    (path / RECORDS).write_text("".join(json.dumps(record) + "\n" for record in records))


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


@pytest.mark.parametrize("entry", [str, lambda name: {"name": name, "kind": "qa", "ids": 1}], ids=["names", "trace"])
def test_a_run_interrupted_between_prompts_is_not_finished(tmp_path: Path, entry: Callable[[str], object]) -> None:
    names = list(dict.fromkeys(record["prompt"] for record in FEW))
    seen = [record for record in FEW if record["prompt"] in names[:4]]
    # The fifth prompt was under way.
    folder = write_run(tmp_path / "run", "replay", [*seen, FEW[8]], prompts=list(map(entry, names)))
    assert load_runs([tmp_path / "run"])[0].progress == "4 of 6 prompts so far"
    (tmp_path / "run" / RECORDS).write_text("".join(json.dumps(record) + "\n" for record in seen))
    folder.finish(summarise(seen))
    (run,) = load_runs([tmp_path / "run"])
    assert (run.finished, run.progress) == (False, "4 of 6 prompts so far")
    said = {term: value for _, pairs in facts(run) for term, value in pairs}
    assert said["state"] == "in progress or interrupted: 4 of 6 prompts so far"
    page = write_report([run], tmp_path / "report.html").page.read_text(encoding="utf-8")
    assert "the run is not finished: 4 of 6 prompts so far" in page
    (tmp_path / "run" / RECORDS).write_text("".join(json.dumps(record) + "\n" for record in FEW))
    assert load_runs([tmp_path / "run"])[0].finished


def test_runs_are_short_names_by_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        (lambda path: path.rename(path.with_name("other")), "run does not exist"),
        (lambda path: (path / MANIFEST).unlink(), "not the folder of a run"),
        (lambda path: (path / MANIFEST).write_text('{"format": 99}'), "format 99.*update univer"),
        (lambda path: (path / MANIFEST).write_text("{"), "cannot be read"),
        (lambda path: (path / RECORDS).write_text(""), "no records yet"),
        (lambda path: (path / RECORDS).unlink(), "no records yet"),
        (lambda path: (path / RECORDS).write_text('{"a": 1}\n'), "line 1 is no record"),
        (lambda path: (path / RECORDS).write_text(json.dumps(FEW[0] | {"taus": "x"}) + "\n"), "cannot be summarised"),
        (lambda path: second(path, {"temperature": None}), "records.jsonl line 2 has None as its temperature"),
        (lambda path: second(path, {"temperature": "hot"}), "line 2 has 'hot' as its temperature"),
        (lambda path: second(path, {"method": 7}), "line 2 has 7 as its method"),
        (lambda path: second(path, {"tree": 7}), "line 2 has 7 as its tree"),
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
