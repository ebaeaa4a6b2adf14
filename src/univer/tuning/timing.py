"""Real rounds of the engine on sample prompts, timed phase by phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from univer.drafting.growth import TreePolicy
from univer.engine import Generation, generate_rounds
from univer.runtime.checks import context_limit
from univer.tuning.watch import Turns

# Rounds timed on one prompt before the next is read: costs hang on the length of the text.
ROUNDS_PER_PROMPT = 10


@dataclass(frozen=True)
class TimedRound:
    """One round.

    Attributes:
        policy: number of the policy that grew its tree.
        nodes: drafted nodes, the root left out.
        widths: nodes read at every level, the root's first.
        seconds: time by phase of the engine.
    """

    policy: int
    nodes: int
    widths: tuple[int, ...]
    seconds: Mapping[str, float]

    @property
    def total(self) -> float:
        """Time of all phases."""
        return sum(self.seconds.values())


@dataclass(frozen=True)
class TimedPrompt:
    """The reading of one prompt.

    Attributes:
        tokens: its length.
        target: time of the target's prefill.
        draft: time of the start of the draft and of its first tree, in which it reads the prompt.
        widths: nodes read at every level of that tree.
    """

    tokens: int
    target: float
    draft: float
    widths: tuple[int, ...]


@dataclass
class Timings:
    """What was timed so far.

    Attributes:
        rounds: rounds with a tree.
        plain: time by phase of rounds of plain decoding.
        prompts: one entry per prompt read.
    """

    rounds: list[TimedRound] = field(default_factory=list)
    plain: list[dict[str, float]] = field(default_factory=list)
    prompts: list[TimedPrompt] = field(default_factory=list)


def time_rounds(
    target: Any,
    draft: Any,
    prompts: Sequence[Tensor],
    policies: Sequence[TreePolicy],
    options: Mapping[str, Any],
    *,
    repeats: int,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
    into: Timings | None = None,
) -> Timings:
    """Time rounds of policies that take turns, with plain rounds in between.

    The prompts are read in turn, the first of them once more before that, as a warm-up that is not counted. The rounds
    are those of `generate`: real texts, real verdicts, the engine's own clock.

    Args:
        target: a causal language model.
        draft: what `generate` takes.
        prompts: prompts `[1, L]`.
        policies: how trees grow.
        options: further options of `generate`.
        repeats: rounds of each policy.
        seed: of the texts and the turns.
        progress: called with the number of rounds timed and that of all.
        into: filled while the work goes on.

    Returns:
        The timings.

    Raises:
        ValueError: a prompt leaves no room for a single round.
    """
    timings = into if into is not None else Timings()
    turns = Turns(tuple(policies), seed)
    wanted = repeats * len(policies)
    number, counted = -1, 0
    while counted < wanted:
        ids = prompts[max(number, 0) % len(prompts)]
        own = Timings()
        rounds = max(len(policies), ROUNDS_PER_PROMPT) if number < 0 else min(ROUNDS_PER_PROMPT, wanted - counted)
        _time_text(target, draft, ids, turns, options, rounds=rounds, seed=seed + number + 1, into=own)
        if number >= 0:
            if not own.rounds:
                raise ValueError(f"a prompt of {ids.shape[1]} tokens leaves no room for a round of {turns.name}")
            timings.rounds += own.rounds
            timings.plain += own.plain
            timings.prompts += own.prompts
            counted += len(own.rounds)
            progress(min(counted, wanted), wanted)
        number += 1
    return timings


def _time_text(
    target: Any,
    draft: Any,
    ids: Tensor,
    turns: Turns,
    options: Mapping[str, Any],
    *,
    rounds: int,
    seed: int,
    into: Timings,
) -> None:
    """Time some rounds on one prompt; in the first one the draft reads the prompt, so it counts for that."""
    room = (rounds + 2) * (turns.max_depth + 1)
    limit = context_limit(target)
    request = {
        **options,
        "max_new_tokens": room if limit is None else min(room, limit - ids.shape[1]),
        "eos_token_id": None,
        "seed": seed,
    }
    drafted = generate_rounds(target, draft, ids, **{**request, "tree": turns})
    plain = generate_rounds(target, None, ids, **request)
    before = dict(drafted.stats.seconds)
    _advance(plain)
    while len(into.rounds) < rounds and (step := next(drafted, None)) is not None:
        after = dict(drafted.stats.seconds)
        spent = {phase: after[phase] - before[phase] for phase in after}
        if step.round is not None and step.round.cut:
            break
        if step.round is None:
            before = {**after, "prefill": before["prefill"], "draft": before["draft"]}
            continue
        seen = turns.log[-1]
        if len(drafted.stats.rounds) == 1:
            into.prompts.append(TimedPrompt(ids.shape[1], spent["prefill"], spent["draft"], seen.widths))
        else:
            into.rounds.append(TimedRound(seen.policy, seen.nodes, seen.widths, spent))
            into.plain.append(_advance(plain))
        before = after


def _advance(generation: Generation) -> dict[str, float]:
    """Time by phase of the next step."""
    before = dict(generation.stats.seconds)
    next(generation, None)
    return {phase: spent - before[phase] for phase, spent in generation.stats.seconds.items()}
