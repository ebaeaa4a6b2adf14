"""Real rounds of the engine on sample prompts, timed phase by phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from torch import Tensor

from univer.drafting.growth import TreePolicy
from univer.engine import Generation, generate_rounds
from univer.runtime.checks import context_limit
from univer.tuning.alternating import AlternatingPolicy, TreeRecord

# Rounds timed on one prompt before the next, because costs depend on the length of the text.
ROUNDS_PER_PROMPT = 10


@dataclass(frozen=True)
class TimedRound:
    """One timed round.

    Attributes:
        tree: what its tree asked of the draft.
        seconds: time by phase of the engine.
    """

    tree: TreeRecord
    seconds: Mapping[str, float]

    @property
    def total(self) -> float:
        """Time of all phases."""
        return sum(self.seconds.values())


@dataclass(frozen=True)
class TimedPrompt:
    """One timed prefill.

    Attributes:
        tokens: number of tokens of the prompt.
        target: time of the target's prefill.
        draft: time of starting the draft and of its first tree, for which it reads the prompt.
        widths: number of nodes read on each level of that tree.
    """

    tokens: int
    target: float
    draft: float
    widths: tuple[int, ...]


@dataclass
class Timings:
    """Everything timed so far.

    Attributes:
        rounds: rounds with a tree.
        plain: rounds of plain decoding, time by phase.
        prompts: one entry per prefill.
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
    """Time rounds of alternating policies, with rounds of plain decoding in between.

    The prompts are used one after the other; the first one is also used before that for a warm-up, which is not
    counted. Texts and verdicts are those of `generate`, and so is the clock.

    Args:
        target: a causal language model.
        draft: a draft, as for `generate`.
        prompts: prompts `[1, L]`.
        policies: how trees grow.
        options: further options of `generate`.
        repeats: number of rounds of each policy.
        seed: random seed of the texts and of the order of the policies.
        progress: called with the number of rounds timed and the number of all.
        into: result to fill, so that it is complete if the work is interrupted.

    Returns:
        The timings.

    Raises:
        ValueError: a prompt leaves no room for a round.
    """
    timings = into or Timings()
    policy = AlternatingPolicy(tuple(policies), seed)
    _time_text(target, draft, prompts[0], policy, options, max(len(policies), ROUNDS_PER_PROMPT), seed)
    wanted, counted = repeats * len(policies), 0
    for number, ids in enumerate(cycle(prompts), start=1):
        rounds = min(ROUNDS_PER_PROMPT, wanted - counted)
        timed = _time_text(target, draft, ids, policy, options, rounds, seed + number)
        if not timed.rounds:
            raise ValueError(f"a prompt of {ids.shape[1]} tokens leaves no room for a round of {policy.name}")
        timings.rounds += timed.rounds
        timings.plain += timed.plain
        timings.prompts += timed.prompts
        counted += len(timed.rounds)
        progress(counted, wanted)
        if counted == wanted:
            break
    return timings


def _time_text(
    target: Any,
    draft: Any,
    ids: Tensor,
    policy: AlternatingPolicy,
    options: Mapping[str, Any],
    rounds: int,
    seed: int,
) -> Timings:
    """Time some rounds on one prompt; the first one, in which the draft reads the prompt, counts as its prefill."""
    timings = Timings()
    room = (rounds + 2) * (policy.max_depth + 1)
    limit = context_limit(target)
    request = {
        **options,
        "max_new_tokens": room if limit is None else min(room, limit - ids.shape[1]),
        "eos_token_id": None,
        "seed": seed,
    }
    drafted = generate_rounds(target, draft, ids, **{**request, "tree": policy})
    plain = generate_rounds(target, None, ids, **request)
    before = dict(drafted.stats.seconds)
    _advance(plain)
    while len(timings.rounds) < rounds and (step := next(drafted, None)) is not None:
        after = dict(drafted.stats.seconds)
        spent = {phase: after[phase] - before[phase] for phase in after}
        if step.round is not None and step.round.cut:
            break
        if step.round is None:
            before = {**after, "prefill": before["prefill"], "draft": before["draft"]}
            continue
        record = policy.records[-1]
        if len(drafted.stats.rounds) == 1:
            timings.prompts.append(TimedPrompt(ids.shape[1], spent["prefill"], spent["draft"], record.widths))
        else:
            timings.rounds.append(TimedRound(record, spent))
            timings.plain.append(_advance(plain))
        before = after
    return timings


def _advance(generation: Generation) -> dict[str, float]:
    """Run the next step and return its time by phase."""
    before = dict(generation.stats.seconds)
    next(generation, None)
    return {phase: spent - before[phase] for phase, spent in generation.stats.seconds.items()}
