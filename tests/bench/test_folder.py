"""Run folders: nothing is overwritten, nothing measured is lost, other settings are refused."""

import json

import pytest

from univer.bench.folder import MANIFEST, RECORDS, RunFolder, key

RECORD = {"prompt": "1", "draft": "d", "tree": "2x5", "method": "univer", "temperature": 1.0, "taus": [1.5]}


def test_a_run_goes_on_where_it_ended(tmp_path):
    run = RunFolder.open(tmp_path / "run", "replay", {"seed": 0, "trees": ("2x5",)})
    run.append(RECORD)
    again = RunFolder.open(tmp_path / "run", "replay", {"seed": 0, "trees": ["2x5"]})
    assert again.records == [RECORD]
    assert again.done == {key(RECORD)}
    again.append(RECORD | {"prompt": "2"})
    again.finish({"rows": []})
    assert [record["prompt"] for record in RunFolder(tmp_path / "run").records] == ["1", "2"]
    assert json.loads((tmp_path / "run" / "summary.json").read_text()) == {"rows": []}


def test_the_manifest_says_what_the_run_was_made_with(tmp_path):
    manifest = RunFolder.open(tmp_path / "run", "replay", {"seed": 3}).manifest
    assert manifest["kind"] == "replay"
    assert manifest["settings"] == {"seed": 3}
    assert manifest["machine"]["versions"]["torch"]
    assert {"format", "commit", "started"} <= set(manifest)


def test_the_manifest_says_where_a_run_went_on(tmp_path, monkeypatch):
    RunFolder.open(tmp_path / "run", "replay", {}).append(RECORD)
    RunFolder.open(tmp_path / "run", "replay", {}).append(RECORD | {"prompt": "2"})
    assert "continued" not in RunFolder(tmp_path / "run").manifest
    monkeypatch.setattr("univer.bench.folder.commit", lambda: "another")
    RunFolder.open(tmp_path / "run", "replay", {})  # a look alone changes nothing
    assert "continued" not in RunFolder(tmp_path / "run").manifest
    for prompt in ("3", "4"):
        RunFolder.open(tmp_path / "run", "replay", {}).append(RECORD | {"prompt": prompt})
    [continued] = RunFolder(tmp_path / "run").manifest["continued"]
    assert (continued["commit"], continued["records"]) == ("another", 2)


@pytest.mark.parametrize(
    ("kind", "settings", "named"), [("spec-bench", {"seed": 0}, "spec-bench"), ("replay", {"seed": 1}, "seed")]
)
def test_another_run_in_the_same_folder_is_refused(tmp_path, kind, settings, named):
    RunFolder.open(tmp_path / "run", "replay", {"seed": 0}).append(RECORD)
    with pytest.raises(ValueError, match=named):
        RunFolder.open(tmp_path / "run", kind, settings)
    assert RunFolder(tmp_path / "run").records == [RECORD]


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match="choose a new folder"):
        RunFolder.open(tmp_path, "replay", {})
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(ValueError, match=r"no manifest\.json"):
        RunFolder(tmp_path)


def test_what_a_process_left_that_was_killed_at_once_is_no_obstacle(tmp_path):
    (tmp_path / "manifest.json.partial").write_text('{"form')
    assert RunFolder.open(tmp_path, "replay", {}).records == []


def test_other_machines_that_measured_are_named_once(tmp_path):
    run = RunFolder.open(tmp_path / "run", "spec-bench", {})
    run.add_workers([run.manifest["machine"]])
    assert "workers" not in RunFolder(tmp_path / "run").manifest
    for _ in range(2):
        run.add_workers([{"processor": "other"}, {"processor": "other"}])
    assert RunFolder(tmp_path / "run").manifest["workers"] == [{"processor": "other"}]


def test_a_refusal_shows_where_long_settings_differ(tmp_path):
    names = [f"prompt-{number:04d}" for number in range(72)]
    RunFolder.open(tmp_path / "run", "replay", {"prompts": names, "sampling": {}})
    for prompts, shown in ((names[:-1], r"72 entries (now 71 entries)"), ([*names[:50], "x", *names[51:]], "'x'")):
        with pytest.raises(ValueError, match="prompts = ") as refused:
            RunFolder.open(tmp_path / "run", "replay", {"prompts": prompts, "sampling": {}})
        assert shown in str(refused.value)
    with pytest.raises(ValueError, match=r"sampling = \{\} \(now 'none'\)"):
        RunFolder.open(tmp_path / "run", "replay", {"prompts": names, "sampling": "none"})


def test_a_place_that_can_be_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be made"):
        RunFolder.open(tmp_path / "file" / "run", "replay", {})


def test_a_record_is_kept_once(tmp_path):
    run = RunFolder.open(tmp_path / "run", "replay", {})
    run.append(RECORD)
    with pytest.raises(ValueError, match="already"):
        run.append(RECORD)
    assert len((tmp_path / "run" / RECORDS).read_text().splitlines()) == 1


def test_a_line_that_a_killed_process_left_half_written_is_measured_again(tmp_path):
    run = RunFolder.open(tmp_path / "run", "replay", {})
    run.append(RECORD)
    with (tmp_path / "run" / RECORDS).open("a") as file:
        file.write('{"prompt": "2", "dra')
    assert RunFolder(tmp_path / "run").records == [RECORD]
    again = RunFolder.open(tmp_path / "run", "replay", {})
    again.append(RECORD | {"prompt": "2"})
    assert [record["prompt"] for record in RunFolder(tmp_path / "run").records] == ["1", "2"]


def test_a_broken_line_is_named(tmp_path):
    RunFolder.open(tmp_path / "run", "replay", {}).append(RECORD)
    path = tmp_path / "run" / RECORDS
    path.write_text("nonsense\n" + path.read_text())
    with pytest.raises(ValueError, match="line 1 is no record"):
        RunFolder(tmp_path / "run")


@pytest.mark.parametrize("content", ["", "[]", '{"format": "new"}'])
def test_a_manifest_that_cannot_be_read_is_named(tmp_path, content):
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(ValueError, match="cannot be read"):
        RunFolder(tmp_path)


def test_a_newer_format_asks_for_an_update(tmp_path):
    (tmp_path / MANIFEST).write_text('{"format": 99}')
    with pytest.raises(ValueError, match="update univer"):
        RunFolder(tmp_path)
