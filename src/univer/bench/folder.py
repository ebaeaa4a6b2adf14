"""A run of a benchmark in a folder: what it was run with, what was measured, what follows from it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import univer
from univer.files import check_resumable, lock_folder, new_folder, write_json
from univer.models.machine import machine

FORMAT = 1
MANIFEST, RECORDS, SUMMARY = "manifest.json", "records.jsonl", "summary.json"

# What tells the records of a run apart.
KEY = ("prompt", "draft", "tree", "method", "temperature")

Record = dict[str, Any]
Key = tuple[Any, ...]


def key(record: Mapping[str, Any]) -> Key:
    """What tells the records of a run apart: prompt, draft, tree, method and temperature.

    Example:
        >>> key({"prompt": "81", "draft": None, "tree": None, "method": "plain", "temperature": 1.0})
        ('81', None, None, 'plain', 1.0)
    """
    return tuple(record[name] for name in KEY)


class RunFolder:
    """A folder with a manifest, records and a summary; a run that was interrupted goes on where it ended.

    Records are added to a file line by line as soon as they are measured, so a killed process loses the one that it was
    at. Nothing that was measured is ever overwritten.

    Args:
        path: the folder, which holds a manifest.

    Attributes:
        path: the folder.
        manifest: `format`, `kind`, `settings`, `machine`, `commit` and `started`; also `continued`, if the run went on
            elsewhere or with another version: for each time `machine`, `commit`, `started` and the number of `records`
            that there were; and `workers`, the machines that measured where they are not the one that wrote the folder.

    Raises:
        ValueError: the folder is not that of a run, or was written by a newer version.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not (self.path / MANIFEST).is_file():
            raise ValueError(f"{path} is not the folder of a run: it has no {MANIFEST}")
        try:
            self.manifest: dict[str, Any] = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
            version = int(self.manifest["format"])
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{self.path / MANIFEST} cannot be read ({error})") from error
        if version > FORMAT:
            raise ValueError(f"{path} has format {version}, this version of univer reads {FORMAT}: update univer")
        self._records = self._read()
        self._done = {key(record) for record in self._records}
        self._at_work = False
        self._lock: object = None

    @classmethod
    def open(cls, path: str | Path, kind: str, settings: Mapping[str, Any]) -> RunFolder:
        """Begin a run in a new folder, or go on with one that has the same settings.

        Args:
            path: the folder; it may exist if it is empty.
            kind: what is run, such as `"replay"`.
            settings: everything the figures depend on, as JSON has it.

        Raises:
            ValueError: the folder holds something else, a run of another kind or with other settings, which are named,
                or another process is at work in it.
        """
        folder, wanted = Path(path), json.loads(json.dumps(dict(settings)))
        if (folder / MANIFEST).exists():
            lock: object = lock_folder(folder)
            run = cls(folder)
            run._same(kind, wanted)
        else:
            lock = new_folder(folder, MANIFEST, "run")
            write_json(folder / MANIFEST, {"format": FORMAT, "kind": kind, "settings": wanted, **_circumstances()})
            run = cls(folder)
        run._lock = lock
        return run

    @property
    def records(self) -> list[Record]:
        """All records so far, in the order in which they were measured."""
        return list(self._records)

    @property
    def done(self) -> frozenset[Key]:
        """The keys of all records so far."""
        return frozenset(self._done)

    def append(self, record: Record) -> None:
        """Add a record and see to it that it is on the disk.

        If the machine or the version is not that of the run so far, the manifest says so before.

        Raises:
            ValueError: there is a record with its key already.
        """
        own = key(record)
        if own in self._done:
            raise ValueError(f"the run has a record of {own} already")
        if not self._at_work:
            self._go_on()
        with (self.path / RECORDS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._records.append(record)
        self._done.add(own)

    def add_workers(self, machines: Sequence[Mapping[str, Any]]) -> None:
        """Note in the manifest on which other machines records were measured, each once."""
        known = self.manifest.get("workers", [])
        new: list[dict[str, Any]] = []
        for own in machines:
            if own not in (self.manifest.get("machine"), *known, *new):
                new.append(dict(own))
        if new:
            self.manifest["workers"] = [*known, *new]
            write_json(self.path / MANIFEST, self.manifest)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the summary, in place of an earlier one."""
        write_json(self.path / SUMMARY, summary)

    def _read(self) -> list[Record]:
        """The records; a last line that was cut off when the process was killed is left out."""
        path = self.path / RECORDS
        if not path.exists():
            return []
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        records = []
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                key(record)
            except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
                raise ValueError(f"{path} line {number} is no record ({error})") from error
            records.append(record)
        return records

    def _go_on(self) -> None:
        """Note where the run goes on, if that is not where it was before."""
        self._at_work = True
        now, continued = _circumstances(), self.manifest.get("continued", [])
        last = continued[-1] if continued else self.manifest
        if any(now[name] != last.get(name) for name in ("machine", "commit")):
            self.manifest["continued"] = [*continued, now | {"records": len(self._records)}]
            write_json(self.path / MANIFEST, self.manifest)

    def _same(self, kind: str, settings: dict[str, Any]) -> None:
        if self.manifest["kind"] != kind:
            raise ValueError(f"{self.path} holds a run of kind {self.manifest['kind']!r}, not {kind!r}")
        check_resumable(self.manifest["settings"], settings, f"the run in {self.path}")
        # What a killed process left of its last line would run into the next record.
        path = self.path / RECORDS
        if path.exists():
            whole = path.read_bytes().rfind(b"\n") + 1
            if whole < path.stat().st_size:
                os.truncate(path, whole)


def commit() -> str | None:
    """The git commit that the package runs from, with a plus sign if files differ from it; None outside a clone."""
    place = Path(univer.__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"],
            cwd=place,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        ).stdout.strip()
        tracked = subprocess.run(
            ["git", "ls-files", "--error-unmatch", Path(univer.__file__).name],
            cwd=place,
            capture_output=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found if tracked.returncode == 0 else None


def _circumstances() -> dict[str, Any]:
    """Where and when something is measured, and with which version."""
    return {"machine": machine(), "commit": commit(), "started": datetime.now(UTC).isoformat(timespec="seconds")}
