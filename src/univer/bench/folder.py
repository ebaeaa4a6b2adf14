"""Folders of results: what was run with which settings, what was measured, and the summary."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import univer
from univer.files import check_new_folder, check_resumable, lock_folder, new_folder, write_json
from univer.models.machine import machine

FORMAT = 1
MANIFEST, RECORDS, SUMMARY = "manifest.json", "records.jsonl", "summary.json"

# Records of a run differ in these.
KEY = ("prompt", "draft", "tree", "method", "temperature")

Record = dict[str, Any]
Key = tuple[Any, ...]


def key(record: Mapping[str, Any]) -> Key:
    """The key of a record: prompt, draft, tree, method and temperature.

    Example:
        >>> key({"prompt": "81", "draft": None, "tree": None, "method": "plain", "temperature": 1.0})
        ('81', None, None, 'plain', 1.0)
    """
    return tuple(record[name] for name in KEY)


class ManifestFolder:
    """A folder of results with a manifest that says what it was made with.

    Args:
        path: the folder, which holds a manifest.

    Attributes:
        path: the folder.
        manifest: `format`, `kind`, `settings`, `machine`, `commit` and `started`.

    Raises:
        ValueError: it holds none, or one of a format that this version does not read.
    """

    what, manifest_name, version = "run", MANIFEST, FORMAT
    # What to do about an older format.
    if_older = ""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        file = self.path / self.manifest_name
        if not file.is_file():
            raise ValueError(f"{path} is not the folder of a {self.what}: it has no {self.manifest_name}")
        try:
            self.manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            found = int(self.manifest["format"])
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file} cannot be read ({type(error).__name__}: {error})") from error
        if found != self.version:
            what_to_do = "update univer" if found > self.version else self.if_older
            raise ValueError(
                f"{path} holds a {self.what} of format {found}, this version of univer reads format {self.version}: "
                f"{what_to_do}"
            )
        self._lock: object = None

    @classmethod
    def open(cls, path: str | Path, kind: str, settings: Mapping[str, Any]) -> Self:
        """Start in a new folder, or resume what was interrupted with the same settings.

        Args:
            path: the folder; it may exist if it is empty.
            kind: what is run, such as `"replay"`.
            settings: everything the figures depend on, as JSON has it.

        Raises:
            ValueError: the folder holds something else, a run of another kind or with other settings, which are named,
                or another process is writing to it.
        """
        folder, wanted = Path(path), json.loads(json.dumps(dict(settings)))
        cls.check(path, kind)
        if (folder / cls.manifest_name).exists():
            lock: object = lock_folder(folder)
            found = cls(folder)
            check_resumable(found.manifest["settings"], wanted, f"the {cls.what} in {path}")
        else:
            lock = new_folder(folder, cls.manifest_name, cls.what)
            manifest = {"format": cls.version, "kind": kind, "settings": wanted, **_circumstances()}
            write_json(folder / cls.manifest_name, manifest)
            found = cls(folder)
        found._lock = lock
        return found

    @classmethod
    def check(cls, path: str | Path | None, kind: str) -> None:
        """Check that `open` can start or resume in a folder, settings aside, before models are loaded.

        Args:
            path: the folder; None is no folder, where there is nothing to check.
            kind: as for `open`.

        Raises:
            ValueError: the folder holds something else, or cannot be made.
        """
        if path is None:
            return
        if not (Path(path) / cls.manifest_name).exists():
            check_new_folder(Path(path), cls.manifest_name, cls.what)
        elif (saved := cls(path).manifest.get("kind", kind)) != kind:
            raise ValueError(f"{path} holds a {cls.what} of kind {saved!r}, not {kind!r}: choose another folder")

    @property
    def settings(self) -> dict[str, Any]:
        """Everything the results depend on."""
        return dict(self.manifest["settings"])


class RunFolder(ManifestFolder):
    """A folder with a manifest, records and a summary, from which an interrupted run resumes.

    Records are added to a file line by line as soon as they are measured, so a killed process loses only the one it was
    measuring. No record is ever overwritten.

    Args:
        path: the folder, which holds a manifest.

    Attributes:
        manifest: as in `ManifestFolder`; also `continued`, if the run was resumed on another machine or with another
            version: for each time `machine`, `commit`, `started` and the number of `records` that there were; and
            `workers`, the machines that measured where they are not the one that wrote the folder.

    Raises:
        ValueError: the folder is not that of a run, or was written by a newer version.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._records = self._read()
        self._done = {key(record) for record in self._records}
        self._measuring = False

    @property
    def records(self) -> list[Record]:
        """All records so far, in the order in which they were measured."""
        return list(self._records)

    @property
    def done(self) -> frozenset[Key]:
        """The keys of all records so far."""
        return frozenset(self._done)

    def append(self, record: Record) -> None:
        """Add a record and flush it to the disk.

        The first one also notes in the manifest if machine or version are not those of the run so far.

        Raises:
            ValueError: there is a record with its key already.
        """
        if key(record) in self._done:
            raise ValueError(f"the run has a record of {key(record)} already")
        if not self._measuring:
            self._begin()
        with (self.path / RECORDS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._records.append(record)
        self._done.add(key(record))

    def add_workers(self, machines: Sequence[Mapping[str, Any]]) -> None:
        """Note in the manifest on which other machines records were measured, each once."""
        known = list(self.manifest.get("workers", []))
        for machine_ in map(dict, machines):
            if machine_ not in (self.manifest.get("machine"), *known):
                known.append(machine_)
        if known != self.manifest.get("workers", []):
            self.manifest["workers"] = known
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

    def _begin(self) -> None:
        """Drop what a killed process left of its last line, and note where the run is resumed, if that is new."""
        self._measuring = True
        path = self.path / RECORDS
        if path.exists() and (whole := path.read_bytes().rfind(b"\n") + 1) < path.stat().st_size:
            os.truncate(path, whole)
        now, continued = _circumstances(), self.manifest.get("continued", [])
        last = continued[-1] if continued else self.manifest
        if any(now[name] != last.get(name) for name in ("machine", "commit")):
            self.manifest["continued"] = [*continued, now | {"records": len(self._records)}]
            write_json(self.path / MANIFEST, self.manifest)


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
