"""The folder of a trace: a manifest and one shard per prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from univer.bench.folder import ManifestFolder
from univer.bench.rows import described_growths
from univer.bench.traces.shard import read_shard
from univer.engine.contexts import Context


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


class TraceFolder(ManifestFolder):
    """Manifest and shards of a trace; shards are whole or absent.

    Args:
        path: the folder, which holds a manifest.

    Attributes:
        prompts: all prompts of the trace, also those that are not recorded yet.

    Raises:
        ValueError: the folder is not that of a trace, or has a format that this version does not read.
    """

    what, manifest_name, version = "trace", "trace.json", 2
    if_older = "record it again with 'univer trace', which now keeps whole rows"

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        try:
            self.prompts = [Recorded(number, **prompt) for number, prompt in enumerate(self.settings["prompts"])]
            self.growths = described_growths(self.settings["growths"])
        except (KeyError, TypeError, ValueError) as error:
            file = self.path / self.manifest_name
            raise ValueError(f"{file} cannot be read ({type(error).__name__}: {error})") from error

    @property
    def finished(self) -> list[Recorded]:
        """The prompts that have a shard."""
        return [prompt for prompt in self.prompts if self.shard(prompt).is_file()]

    @property
    def size(self) -> int:
        """Bytes of all files so far."""
        return sum(file.stat().st_size for file in self.path.iterdir())

    def shard(self, prompt: Recorded) -> Path:
        """The file of a prompt's trees."""
        return self.path / f"prompt-{prompt.number:04d}.npz"

    def rounds(self, prompt: Recorded) -> Path:
        """The file of a prompt's rounds, see `rounds.one_round`."""
        return self.path / f"rounds-{prompt.number:04d}.json"

    def contexts(self, prompt: Recorded) -> Iterator[Context]:
        """The contexts of a prompt in the order in which they were recorded.

        Raises:
            ValueError: the shard cannot be read; the message names the prompt and says how to record it again.
        """
        file = self.shard(prompt)
        try:
            yield from read_shard(file, self.growths)
        except (ValueError, OSError) as error:
            raise ValueError(
                f"{file} cannot be read: {error}. Delete it and repeat the command that recorded the trace, which then "
                f"records the prompt {prompt.name!r} again"
            ) from error
