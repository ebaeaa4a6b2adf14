"""A folder belongs to one process at a time."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from univer.bench.folder import RunFolder
from univer.bench.lock import hold

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders go without locks there")

OTHER = """
import sys
from pathlib import Path
from univer.bench.lock import hold
try:
    lock = hold(Path(sys.argv[1]))
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
def test_a_run_that_another_process_is_at_is_refused_until_that_ends(tmp_path: Path, end: str) -> None:
    place = tmp_path / "run"
    RunFolder.open(place, "replay", {})
    with other_process(place) as (said, process):
        assert said == "held"
        with pytest.raises(ValueError, match=r"another process is at work in .*: wait until it has ended"):
            RunFolder.open(place, "replay", {})
        assert RunFolder(place).records == []  # reading is free
        if end == "kill":
            process.kill()
    assert RunFolder.open(place, "replay", {}).records == []


def test_one_process_may_open_a_folder_twice(tmp_path: Path) -> None:
    first, second = hold(tmp_path), hold(tmp_path)
    assert first is second
    del first
    with other_process(tmp_path) as (said, _):
        assert said.startswith("another process is at work")
    del second
    with other_process(tmp_path) as (said, _):
        assert said == "held"
