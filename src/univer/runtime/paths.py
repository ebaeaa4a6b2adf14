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
    them stay in the cache as candidates until the text continues.

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
            Logits `[n, V]`, in the model's dtype. They are kept until the text continues.

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
        """Remove all candidates from the cache, before the text continues."""
        self.runner.keep([])
        self._numbers, self._logits = {}, []


@dataclass(frozen=True)
class PathInput:
    """Paths that one of several trees below a text contributes, see `univer.drafting.proposals.PassInput`.

    Attributes:
        reader: the reader of the text; the paths of all of its trees can share a pass.
        paths: as for `PathReader.read`.
    """

    reader: PathReader
    paths: Sequence[Path]

    @property
    def batch_key(self) -> object:
        """The reader: all trees below its text can share a pass."""
        return self.reader

    def run_with(self, others: Sequence[PathInput]) -> list[Tensor]:
        """Logits `[n, V]` after the paths of each tree."""
        inputs = (self, *others)
        rows = self.reader.read([path for own in inputs for path in own.paths])
        return list(torch.split(rows, [len(own.paths) for own in inputs]))
