"""What a live benchmark is going to measure, cut into parts of which each is done in one process."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from univer.bench.folder import Key, Record, key
from univer.models.prompts import Prompt


@dataclass(frozen=True)
class Shard:
    """Work that has to be done in one process: a prompt with every cell of a temperature, plain decoding among them.

    Attributes:
        prompt: the prompt.
        temperature: of the target.
        turn: which cell goes first.
    """

    prompt: Prompt
    temperature: float
    turn: int


@dataclass(frozen=True)
class Plan:
    """What a run is going to measure.

    Attributes:
        settings: everything the figures depend on.
        shards: the work, in order.
        keys: of every record, in the order of tables.
        notes: what was asked for and is left out, with the reason.
    """

    settings: dict[str, Any]
    shards: list[Shard]
    keys: list[Key]
    notes: list[str]

    def unfinished(self, shards: Iterable[Shard], done: Collection[Key]) -> list[Shard]:
        """The shards that lack a record.

        Args:
            shards: some of the plan's.
            done: keys of records that there are.
        """
        missing = {(own[0], own[-1]) for own in self.keys if own not in done}
        return [shard for shard in shards if (shard.prompt.name, shard.temperature) in missing]

    def ordered(self, records: Iterable[Record]) -> list[Record]:
        """Records in the order of the plan, whichever was measured first."""
        place = {own: number for number, own in enumerate(self.keys)}
        return sorted(records, key=lambda record: place[key(record)])


def shards_of(prompts: Sequence[Prompt], temperatures: Sequence[float]) -> list[Shard]:
    """All work in order; within a task group every prompt begins with another cell.

    Args:
        prompts: with the task group as their kind.
        temperatures: temperatures of the target.
    """
    groups = list(dict.fromkeys(prompt.kind for prompt in prompts))
    seen = dict.fromkeys(groups, 0)
    shards = []
    for prompt in prompts:
        turn = groups.index(prompt.kind) + seen[prompt.kind]
        seen[prompt.kind] += 1
        shards += [Shard(prompt, temperature, turn + place) for place, temperature in enumerate(temperatures)]
    return shards
