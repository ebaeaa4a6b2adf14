"""The cache directory: where it lies, and that what is in it is whole."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from univer.models.cache import cache_directory, cached_directory


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNIVER_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "own"
    monkeypatch.delenv("UNIVER_CACHE")
    assert cache_directory() == tmp_path / "xdg" / "univer"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_directory() == tmp_path / "home" / ".cache" / "univer"


def test_a_directory_is_filled_once(cache: Path) -> None:
    calls = []

    def fill(target: Path) -> None:
        calls.append(target)
        (target / "file").write_text("content")

    first = cached_directory("models/a", fill)
    second = cached_directory("models/a", fill)
    assert first == second == cache / "models" / "a"
    assert (first / "file").read_text() == "content"
    assert len(calls) == 1


def test_a_failed_fill_leaves_nothing(cache: Path) -> None:
    def fail(target: Path) -> None:
        (target / "half").write_text("content")
        raise RuntimeError("no more room")

    with pytest.raises(RuntimeError, match="no more room"):
        cached_directory("models/a", fail)
    assert [path.name for path in (cache / "models").iterdir() if path.is_dir()] == []


def test_what_a_killed_process_left_is_cleared_and_filled_again(cache: Path) -> None:
    script = (
        "import os\n"
        "from univer.models.cache import cached_directory\n"
        "def die(target):\n"
        "    (target / 'half').write_text('content')\n"
        "    os._exit(9)\n"
        "cached_directory('models/a', die)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    assert list((cache / "models").glob(".a.partial-*/content/half"))
    path = cached_directory("models/a", lambda target: (target / "whole").touch())
    assert [file.name for file in path.iterdir()] == ["whole"]
    assert not list((cache / "models").glob(".a.partial-*"))


@pytest.mark.usefixtures("cache")
def test_two_at_the_same_time_fill_once() -> None:
    calls = []

    def fill(target: Path) -> None:
        calls.append(target)
        time.sleep(0.2)
        (target / "file").touch()

    threads = [threading.Thread(target=cached_directory, args=("models/a", fill)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
