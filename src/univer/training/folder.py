"""The folder of a run: whose it is, what it was begun with, and what of it stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from univer.files import check_resumable, lock_folder, write_json

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
        known = {name: value for name, value in begun_with.items() if name in record}
        check_resumable({name: record[name] for name in known}, known, f"the run in {self.path}")

    def claim(self, begun_with: Mapping[str, Any]) -> None:
        """Write down what the run is begun with, while the folder is locked.

        Args:
            begun_with: settings by name.

        Raises:
            ValueError: see `check`.
        """
        self.check(begun_with)
        write_json(self.path / RECORD, self.record() | dict(begun_with))

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write down what came out and delete what can be computed again; sampled texts stay."""
        write_json(self.path / RECORD, self.record() | {"result": dict(result)})
        self.checkpoint.unlink(missing_ok=True)
        shutil.rmtree(self.work("features"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out.

        Raises:
            ValueError: another process trains in this folder.
        """
        lock = lock_folder(self.work())
        try:
            yield
        finally:
            lock.release()
