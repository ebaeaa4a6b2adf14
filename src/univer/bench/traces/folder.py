"""The folder of a trace: a manifest and one shard per prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from univer.bench.folder import commit
from univer.bench.traces.shard import RecordedTree, read_shard
from univer.files import check_resumable, lock_folder, new_folder, write_bytes, write_json
from univer.models.machine import machine

FORMAT = 1
MANIFEST = "trace.json"


@dataclass(frozen=True)
class Recorded:
    """A prompt of a trace.

    Attributes:
        number: its place among the prompts, from 0.
        name: its id.
        kind: its task group.
        ids: crc32 of its token ids.
    """

    number: int
    name: str
    kind: str
    ids: int


class TraceFolder:
    """Manifest and shards of a trace; shards are whole or not there.

    Args:
        path: the folder, which holds a manifest.

    Attributes:
        path: the folder.
        manifest: `format`, `settings`, `machine`, `commit` and `started`.
        settings: everything the shards depend on.
        prompts: all prompts of the trace, also those that are not recorded yet.

    Raises:
        ValueError: the folder is not that of a trace, or has a format that this version does not read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        file = self.path / MANIFEST
        if not file.is_file():
            raise ValueError(f"{path} is not the folder of a trace: it has no {MANIFEST}")
        try:
            self.manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            version = int(self.manifest["format"])
            if version == FORMAT:
                self.settings: dict[str, Any] = self.manifest["settings"]
                self.prompts = [Recorded(number, **prompt) for number, prompt in enumerate(self.settings["prompts"])]
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file} cannot be read ({type(error).__name__}: {error})") from error
        if version != FORMAT:
            raise ValueError(f"{path} has the trace format {version}, this version of univer reads {FORMAT}")
        self._lock: object = None

    @classmethod
    def open(cls, path: str | Path, settings: Mapping[str, Any]) -> TraceFolder:
        """Begin a trace in a new folder, or go on with one that has the same settings.

        Args:
            path: the folder; it may exist if it is empty.
            settings: everything the shards depend on, as JSON has it.

        Raises:
            ValueError: the folder holds something else or a trace with other settings, which are named, or another
                process is at work in it.
        """
        folder, wanted = Path(path), json.loads(json.dumps(dict(settings)))
        if (folder / MANIFEST).exists():
            lock: object = lock_folder(folder)
            trace = cls(folder)
            check_resumable(trace.settings, wanted, f"the trace in {folder}")
            trace._lock = lock
            return trace
        lock = new_folder(folder, MANIFEST, "trace")
        manifest = {
            "format": FORMAT,
            "settings": wanted,
            "machine": machine(),
            "commit": commit(),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_json(folder / MANIFEST, manifest)
        trace = cls(folder)
        trace._lock = lock
        return trace

    @property
    def finished(self) -> list[Recorded]:
        """The prompts that have a shard."""
        return [prompt for prompt in self.prompts if self._shard(prompt).is_file()]

    @property
    def size(self) -> int:
        """Bytes of all files so far."""
        return sum(file.stat().st_size for file in self.path.iterdir())

    def add(self, prompt: Recorded, content: bytes, rounds: bytes | None = None) -> None:
        """Write what belongs to a prompt; the shard comes last and says that all of it is there."""
        if rounds is not None:
            write_bytes(self.path / f"rounds-{prompt.number:04d}.json", rounds)
        write_bytes(self._shard(prompt), content)

    def read(self, prompt: Recorded) -> list[RecordedTree]:
        """The trees of a prompt.

        Raises:
            ValueError: the shard cannot be read; the message says which prompt to record again.
        """
        file = self._shard(prompt)
        try:
            return read_shard(file.read_bytes())
        except (ValueError, OSError) as error:
            raise ValueError(
                f"{file} cannot be read: {error}. Delete it and repeat the command that recorded the trace, which then "
                f"records the prompt {prompt.name!r} again"
            ) from error

    def _shard(self, prompt: Recorded) -> Path:
        return self.path / f"prompt-{prompt.number:04d}.safetensors"
