"""The folder of a training run: its record, its locks and its intermediate files."""

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
    """The folder in which a head is trained and saved.

    `training.json` records the settings of the run and, at the end, its result. `work/` holds the intermediate files
    from which an interrupted run is resumed: sampled texts, hidden states, the checkpoint.

    Args:
        path: the folder; it need not exist yet.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()

    @property
    def checkpoint(self) -> Path:
        """File of the trainer's state."""
        return self.work() / CHECKPOINT

    @property
    def metrics(self) -> Path:
        """File of the figures of every step, one JSON object a line."""
        return self.path / METRICS

    def work(self, *names: str) -> Path:
        """A folder for intermediate files, made if it does not exist."""
        path = self.path.joinpath(WORK, *names)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def record(self) -> dict[str, Any]:
        """The settings of the run and, if it is complete, its result; empty for a new run."""
        path = self.path / RECORD
        if not path.is_file():
            return {}
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is damaged ({error}): choose another output folder") from error

    def check(self, settings: Mapping[str, Any]) -> None:
        """Check that a run with these settings can start in this folder, or be resumed.

        Args:
            settings: settings by name; those that the record does not have yet are not compared.

        Raises:
            ValueError: settings differ, with all their names, or the folder holds something else than a training run.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file: name a folder")
        record = self.record()
        if not record and self.path.is_dir() and any(part.name != WORK for part in self.path.iterdir()):
            raise ValueError(f"{self.path} is not empty and holds no training run: choose another output folder")
        known = {name: value for name, value in settings.items() if name in record}
        check_resumable({name: record[name] for name in known}, known, f"the run in {self.path}")

    def start(self, settings: Mapping[str, Any]) -> None:
        """Record the settings of the run; the folder has to be locked.

        Args:
            settings: settings by name.

        Raises:
            ValueError: see `check`.
        """
        self.check(settings)
        write_json(self.path / RECORD, self.record() | dict(settings))

    def finish(self, result: Mapping[str, Any]) -> None:
        """Record the result and delete the hidden states and the checkpoint; sampled texts stay."""
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
