"""How long tuning takes: a forecast before it starts, and progress over all of its stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from torch import Tensor

from univer.drafting.growth import TreePolicy
from univer.tuning.settings import TuneSettings
from univer.tuning.timing import time_rounds

# Called with the name of a stage, and the work done and the work of all stages, in rounds.
Progress = Callable[[str, int, int], None]

# Rounds timed for the forecast.
TRIAL_ROUNDS = 3
# Candidates that are usually measured, and those of them whose real rounds are timed.
CANDIDATES, SHORTLIST = 13, 6
# Tokens per round that are assumed for texts.
TOKENS_PER_ROUND = 2.0
# Time for counting acceptance on one tree, in rounds: children are drawn for every width.
COUNTING = 3.0


class Stages:
    """Progress over the stages of a run.

    Args:
        rounds: expected work of every stage in rounds, in order.
        report: called with the stage, the work done and the work of all stages, in rounds.
    """

    def __init__(self, rounds: Mapping[str, float], report: Progress) -> None:
        self._rounds = rounds
        self._report = report
        self.total = sum(rounds.values())

    @staticmethod
    def of(settings: TuneSettings, shapes: int, fit: int, held_out: int, report: Progress) -> Stages:
        """Return the stages of tuning.

        Args:
            settings: what to tune for.
            shapes: number of shapes on which costs are measured.
            fit: number of prompts to measure on.
            held_out: number of prompts of the check.
            report: as for the class.
        """
        contexts = fit * settings.contexts
        text = settings.new_tokens / TOKENS_PER_ROUND
        return Stages(
            {
                "costs": shapes * (settings.repeats + 1),
                "sample texts": fit * text,
                "acceptance": COUNTING * contexts,
                "candidates": CANDIDATES * contexts,
                "fastest candidates": SHORTLIST * (2 * settings.repeats + 1),
                "check": held_out * text,
            },
            report,
        )

    def start(self, name: str) -> Callable[[int, int], None]:
        """Start a stage.

        Returns:
            A function to call with the number of parts of the stage that are done, and the number of all its parts.
        """
        names = list(self._rounds)
        before = sum(self._rounds[earlier] for earlier in names[: names.index(name)])

        def progress(done: int, total: int) -> None:
            self._report(name, round(before + self._rounds[name] * done / max(1, total)), round(self.total))

        return progress


def estimate_seconds(
    target: Any,
    draft: Any,
    prompts: Sequence[Tensor],
    policy: TreePolicy,
    options: Mapping[str, Any],
    rounds: float,
) -> float:
    """Estimate the time of some rounds from a short trial.

    Args:
        target: a causal language model.
        draft: a draft, as for `generate`.
        prompts: prompts `[1, L]` for the trial.
        policy: how trees grow.
        options: further options of `generate`.
        rounds: number of rounds.

    Returns:
        Seconds.
    """
    trial = time_rounds(target, draft, prompts, [policy], options, repeats=TRIAL_ROUNDS)
    return rounds * median(timed.total for timed in trial.rounds)
