"""Files of results: written whole or not at all, by one process at a time, resumed only with the same settings."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from univer.bench.folder import RunFolder
from univer.files import check_resumable, lock_folder, new_folder, replacing, write_json

OTHER = """
import sys
from pathlib import Path
from univer.files import lock_folder
try:
    lock = lock_folder(Path(sys.argv[1]))
except ValueError as error:
    print(error, flush=True)
else:
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_process(path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """What it says of the folder, and the process, which goes on until the end of the block."""
    command = [sys.executable, "-c", OTHER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_run_of_another_process_is_refused_until_that_ends(tmp_path: Path, end: str) -> None:
    place = tmp_path / "run"
    RunFolder.open(place, "replay", {})
    with other_process(place) as (said, process):
        assert said == "held"
        with pytest.raises(ValueError, match=r"another process is writing to .*: wait until it has ended"):
            RunFolder.open(place, "replay", {})
        assert RunFolder(place).records == []  # reading is free
        if end == "kill":
            process.kill()
    assert RunFolder.open(place, "replay", {}).records == []


def test_one_process_may_open_a_folder_twice(tmp_path: Path) -> None:
    first, second = lock_folder(tmp_path), lock_folder(tmp_path)
    assert first is second
    del first
    with other_process(tmp_path) as (said, _):
        assert said.startswith("another process is writing")
    del second
    with other_process(tmp_path) as (said, _):
        assert said == "held"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    write_json(file, {"tau": 1.5})

    def interrupted() -> None:
        with replacing(file) as partial:
            partial.write_text("half of")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert json.loads(file.read_text()) == {"tau": 1.5}
    assert [path.name for path in tmp_path.iterdir()] == ["figures.json"]


def test_a_partial_manifest_of_a_killed_process_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "manifest.json.partial").write_text('{"form')
    assert new_folder(tmp_path, "manifest.json", "run").is_locked
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match="does not hold a run: choose a new folder"):
        new_folder(tmp_path, "manifest.json", "run")


def test_the_core_imports_without_filelock() -> None:
    code = "import sys; sys.modules['filelock'] = None; import univer, univer.files"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_equal_settings_pass() -> None:
    check_resumable({"a": 1, "b": {"c": []}}, {"b": {"c": []}, "a": 1}, "the run")


@pytest.mark.parametrize(
    ("saved", "wanted", "message"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, r"the run has other settings: a\.b = 1 \(now 2\)\. Repeat the command"),
        ({}, {"seed": 0}, r"seed = None \(now 0\)"),
        ({"weights_checksum": 1}, {"weights_checksum": 2}, "the weights of the models differ, though"),
        ({}, {"weights_checksum": 2}, "of an earlier version, which did not save a weights_checksum"),
        ({"ids_checksum": 1}, {"ids_checksum": 2}, "another tokenizer or chat template"),
        ({"prompts_checksum": 1}, {"prompts_checksum": 2}, "the texts of the prompts differ"),
        ({"dtype": "a", "seed": 1}, {"dtype": "b", "seed": 2}, r"dtype = 'a' \(now 'b'\), seed = 1 \(now 2\)"),
    ],
)
def test_what_differs_is_named(saved: dict[str, object], wanted: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_resumable(saved, wanted, "the run")
