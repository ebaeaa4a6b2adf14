"""Check of a forecast against real texts, on prompts that were not used for measuring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from univer.drafting.growth import TreePolicy
from univer.engine import generate
from univer.tuning.costs import Costs
from univer.tuning.forecast import Forecast

# Relative error from which a forecast is reported as wrong.
TOLERANCE = 0.15
WARM_UP_TOKENS = 4


@dataclass
class Check:
    """Predicted and measured time, text by text; both include the prefill.

    Attributes:
        prompts: number of tokens of each prompt.
        tokens: number of new tokens of each text.
        rounds: number of rounds of each text.
        predicted: predicted seconds of each text.
        measured: measured seconds of each text.
        taus: tokens per round of the texts that have a complete round.
    """

    prompts: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    predicted: list[float] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)
    taus: list[float] = field(default_factory=list)

    @property
    def predicted_speed(self) -> float:
        """Predicted tokens per second of all texts together."""
        return sum(self.tokens) / sum(self.predicted)

    @property
    def measured_speed(self) -> float:
        """Measured tokens per second of all texts together."""
        return sum(self.tokens) / sum(self.measured)

    @property
    def error(self) -> float:
        """Relative error of the predicted speed, positive if it is too high."""
        return self.predicted_speed / self.measured_speed - 1

    @property
    def holds(self) -> bool:
        """Whether the error is within the tolerance."""
        return abs(self.error) <= TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and lists for JSON."""
        names = ("predicted_speed", "measured_speed", "error", "holds")
        return {**vars(self), **({name: getattr(self, name) for name in names} if self.tokens else {})}


def check_forecast(
    target: Any,
    draft: Any,
    prompts: Sequence[Tensor],
    policy: TreePolicy,
    options: Mapping[str, Any],
    forecast: Forecast,
    costs: Costs,
    *,
    new_tokens: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
    into: Check | None = None,
) -> Check:
    """Generate texts and compare their speed with a forecast.

    Args:
        target: a causal language model.
        draft: a draft, as for `generate`.
        prompts: prompts `[1, L]`, not those that the forecast is based on.
        policy: how trees grow.
        options: further options of `generate`.
        forecast: the forecast.
        costs: gives the time of the prefill.
        new_tokens: length limit of every text.
        seed: random seed of the texts.
        progress: called with the number of finished texts and the number of all.
        into: result to fill, so that it is complete if the work is interrupted.

    Returns:
        Predicted and measured time, text by text.
    """
    check = into if into is not None else Check()
    for number, ids in enumerate(prompts):
        request = {**options, "tree": policy, "seed": seed + number, "max_new_tokens": new_tokens}
        if number == 0:
            generate(target, draft, ids, **{**request, "max_new_tokens": WARM_UP_TOKENS})
        stats = generate(target, draft, ids, **request).stats
        check.prompts.append(stats.prompt_tokens)
        check.tokens.append(stats.new_tokens)
        check.rounds.append(len(stats.rounds))
        check.measured.append(stats.total_seconds)
        check.predicted.append(stats.new_tokens / forecast.speed(costs, stats.new_tokens, [stats.prompt_tokens]))
        if stats.tau is not None:
            check.taus.append(stats.tau)
        progress(number + 1, len(prompts))
    return check
