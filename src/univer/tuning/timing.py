"""Real rounds of the engine on sample prompts, timed phase by phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

from torch import Tensor

from univer.drafting.growth import TreePolicy
from univer.engine import Generation, Step, generate_rounds
from univer.runtime.checks import context_limit
from univer.tuning.alternating import AlternatingPolicy, TreeRecord

# Rounds timed on one prompt before the next, because costs depend on the length of the text.
ROUNDS_PER_PROMPT = 10


@dataclass
class Timings:
    """Everything timed so far.

    Attributes:
        rounds: rounds with a tree.
        plain: rounds of plain decoding, time by phase.
        prefills: for each text, the number of tokens of its prompt and the first round. The time of the target's
            prefill is that of the phase `prefill`. The time of the phase `draft` includes the start of the draft, which
            reads the prompt for its first tree.
    """

    rounds: list[TreeRecord] = field(default_factory=list)
    plain: list[dict[str, float]] = field(default_factory=list)
    prefills: list[tuple[int, TreeRecord]] = field(default_factory=list)


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
    policy = AlternatingPolicy(policies, seed)
    _time_text(target, draft, prompts[0], policy, options, max(len(policies), ROUNDS_PER_PROMPT), seed, Timings())
    wanted, counted = repeats * len(policies), 0
    for number, ids in enumerate(cycle(prompts), start=1):
        rounds = min(ROUNDS_PER_PROMPT, wanted - counted)
        timed = _time_text(target, draft, ids, policy, options, rounds, seed + number, timings)
        if not timed:
            raise ValueError(f"a prompt of {ids.shape[1]} tokens leaves no room for a round of {policy.name}")
        counted += timed
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
    into: Timings,
) -> int:
    """Time some rounds on one prompt after the one in which the draft reads the prompt; return their number."""
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
    _, prefill = next_step(drafted)
    next_step(plain)
    for number in range(rounds + 1):
        step, spent = next_step(drafted)
        if step is None or step.round is None or step.round.cut:
            return max(0, number - 1)
        if number == 0:
            start = {phase: prefill[phase] + spent[phase] for phase in ("prefill", "draft")}
            into.prefills.append((ids.shape[1], replace(policy.records[-1], seconds=start)))
        else:
            into.plain.append(next_step(plain)[1])
            into.rounds.append(replace(policy.records[-1], seconds=spent))
    return rounds


def next_step(generation: Generation) -> tuple[Step | None, dict[str, float]]:
    """Run the next step of a text.

    Args:
        generation: the text.

    Returns:
        The step, None at the end of the text, and its time by phase of the engine.
    """
    before = dict(generation.stats.seconds)
    step = next(generation, None)
    return step, {phase: spent - before[phase] for phase, spent in generation.stats.seconds.items()}
