"""The work of a live benchmark, in parts of which each is measured by one process."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from univer.bench.folder import Key, Record, key
from univer.models.prompts import Prompt


@dataclass(frozen=True)
class Shard:
    """What one process measures: a prompt with every cell of a temperature, plain decoding among them.

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
    """What a run will measure.

    Attributes:
        settings: everything the figures depend on.
        shards: the work, in order.
        keys: of every record, in the order of tables.
        notes: what is left out of the request, with the reason.
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
        missing = {(record_key[0], record_key[-1]) for record_key in self.keys if record_key not in done}
        return [shard for shard in shards if (shard.prompt.name, shard.temperature) in missing]

    def ordered(self, records: Iterable[Record]) -> list[Record]:
        """Records in the order of the plan, whichever was measured first."""
        place = {record_key: number for number, record_key in enumerate(self.keys)}
        return sorted(records, key=lambda record: place[key(record)])


def shards_of(prompts: Sequence[Prompt], temperatures: Sequence[float]) -> list[Shard]:
    """All work in order; within a task group every prompt starts with another cell.

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
