"""The folder of a run: whose it is, what it was begun with, and what of it stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RECORD = "training.json"
METRICS = "metrics.jsonl"
WORK = "work"
CHECKPOINT = "checkpoint.pt"


class RunFolder:
    """Where a head is trained and saved.

    `training.json` says what the run was begun with and, at the end, what came out. `work/` holds what only an
    interrupted run needs: sampled texts, hidden states, the checkpoint.

    Args:
        path: the folder; it need not exist yet.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()

    @property
    def checkpoint(self) -> Path:
        """State of the trainer."""
        return self.work() / CHECKPOINT

    @property
    def metrics(self) -> Path:
        """Figures of every step, one JSON object a line."""
        return self.path / METRICS

    def work(self, *names: str) -> Path:
        """A folder for what an interrupted run needs, made if it does not exist."""
        path = self.path.joinpath(WORK, *names)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def record(self) -> dict[str, Any]:
        """What the run was begun with; empty for a new one."""
        path = self.path / RECORD
        if not path.is_file():
            return {}
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is damaged ({error}): choose another output folder") from error

    def check(self, begun_with: Mapping[str, Any]) -> None:
        """Refuse to go on with other settings than the run was begun with.

        Args:
            begun_with: settings by name; those that the record does not have yet are not compared.

        Raises:
            ValueError: with every setting that differs; or the folder holds something else than a run.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file: name a folder")
        record = self.record()
        if not record and self.path.is_dir() and any(part.name != WORK for part in self.path.iterdir()):
            raise ValueError(f"{self.path} is not empty and holds no training run: choose another output folder")
        changed = [name for name, value in begun_with.items() if name in record and record[name] != value]
        if changed:
            listed = ", ".join(f"{name} {record[name]} (now {begun_with[name]})" for name in changed)
            raise ValueError(
                f"the run in {self.path} was begun with other settings: {listed}; go on with those, or choose another "
                "output folder"
            )

    def claim(self, begun_with: Mapping[str, Any]) -> None:
        """Write down what the run is begun with, while the folder is locked.

        Args:
            begun_with: settings by name.

        Raises:
            ValueError: see `check`.
        """
        self.check(begun_with)
        write_text(self.path / RECORD, json.dumps(self.record() | dict(begun_with), indent=1) + "\n")

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write down what came out and delete what can be computed again; sampled texts stay."""
        write_text(self.path / RECORD, json.dumps(self.record() | {"result": dict(result)}, indent=1) + "\n")
        self.checkpoint.unlink(missing_ok=True)
        shutil.rmtree(self.work("features"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out.

        Raises:
            ValueError: another process works in this folder.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(self.work() / "lock", timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            raise ValueError(f"another process is training in {self.path}") from error
        try:
            yield
        finally:
            lock.release()


def write_text(path: Path, text: str) -> None:
    """Write a file that is either the old one or the whole new one, whatever happens."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
