"""The prompts of a benchmark: task groups, and a random choice of prompts from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from univer.models.prompts import Prompt, check_names

MULTI_TURN = "multi-turn conversation"
# Spec-Bench took these categories from MT-bench; together they are one of its six task groups.
MT_BENCH = frozenset({"writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"})


def task_group(kind: str) -> str:
    """The task group of a category.

    Example:
        >>> task_group("roleplay"), task_group("rag")
        ('multi-turn conversation', 'rag')
    """
    return MULTI_TURN if kind in MT_BENCH else kind


def choose(
    prompts: Sequence[Prompt], groups: Sequence[str] | None = None, count: int | None = None, seed: int = 0
) -> list[Prompt]:
    """The prompts to measure on, the task groups in turn, so that a run that is interrupted has seen all of them.

    Args:
        prompts: all prompts.
        groups: the task groups to take; None for all.
        count: how many of each group, drawn at random; None for all. A group with fewer gives what it has.
        seed: of the draw; a group's does not depend on which other groups are taken.

    Returns:
        The prompts, with the task group as their kind.

    Raises:
        ValueError: two prompts have one name, or a group does not exist.

    Example:
        >>> prompts = [Prompt("81", "writing", "Write."), Prompt("82", "math", "Add."), Prompt("181", "qa", "Who?")]
        >>> [prompt.name for prompt in choose(prompts)]
        ['81', '181', '82']
    """
    check_names(prompts)
    grouped: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        group = task_group(prompt.kind)
        grouped.setdefault(group, []).append(replace(prompt, kind=group))
    if unknown := set(groups or ()) - grouped.keys():
        raise ValueError(f"there is no task group {min(unknown)!r}; there are {', '.join(grouped)}")
    drawn = [
        _draw(members, count, f"{seed} {group}")
        for group, members in grouped.items()
        if groups is None or group in groups
    ]
    return [members[rank] for rank in range(max(map(len, drawn))) for members in drawn if rank < len(members)]


def _draw(prompts: list[Prompt], count: int | None, seed: str) -> list[Prompt]:
    if count is None or count >= len(prompts):
        return prompts
    return [prompts[place] for place in sorted(Random(seed).sample(range(len(prompts)), count))]
