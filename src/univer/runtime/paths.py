"""Several trees below one text: what they have in common is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from univer.runtime.runner import TreeRunner

Path = tuple[int, ...]


class PathReader:
    """Logits after paths of candidate tokens below the committed text, each path read once.

    Trees that are drafted below one text, by several draft laws or of several shapes, share their likely nodes. All of
    them stay in the cache as candidates until the text goes on.

    Args:
        runner: the model and the text.
    """

    def __init__(self, runner: TreeRunner) -> None:
        self.runner = runner
        self._numbers: dict[Path, int] = {}
        self._logits: list[Tensor] = []

    def read(self, paths: Sequence[Path]) -> Tensor:
        """Logits after some paths; those that are new are read in one pass.

        Args:
            paths: token ids from the first below the text down; each path was read before without its last token, or
                comes after the path without it.

        Returns:
            Logits `[n, V]`, in the model's dtype. They are kept until the text goes on.

        Raises:
            KeyError: the parent of a path was not read.
        """
        if new := [path for path in dict.fromkeys(paths) if path not in self._numbers]:
            numbers = self._numbers | {path: number for number, path in enumerate(new, start=self.runner.nodes)}
            parents = [numbers[path[:-1]] if len(path) > 1 else -1 for path in new]
            self._logits += self.runner.read_nodes([path[-1] for path in new], parents)
            self._numbers = numbers
        return torch.stack([self._logits[self._numbers[path]] for path in paths])

    def forget(self) -> None:
        """Take all candidates out of the cache: the text goes on."""
        self.runner.keep([])
        self._numbers, self._logits = {}, []


@dataclass(frozen=True)
class PathReading:
    """Paths that one of several trees below a text needs read, see `univer.drafting.readings.Reading`.

    Attributes:
        shared: the reader of the text; what all of its trees need can be read in one pass.
        paths: as for `PathReader.read`.
    """

    shared: PathReader
    paths: Sequence[Path]

    def together(self, others: Sequence[PathReading]) -> list[Tensor]:
        """Logits `[n, V]` after the paths of each tree."""
        readings = (self, *others)
        rows = self.shared.read([path for reading in readings for path in reading.paths])
        return list(torch.split(rows, [len(reading.paths) for reading in readings]))
