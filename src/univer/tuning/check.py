"""A forecast against real texts on prompts that nothing was measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from univer.drafting.growth import TreePolicy
from univer.engine import generate
from univer.tuning.costs import Costs
from univer.tuning.forecast import Forecast

# A forecast that is further off than this is said to be.
TOLERANCE = 0.15
WARM_UP_TOKENS = 4


@dataclass
class Check:
    """Forecast and measurement, text by text.

    Both take in the reading of the prompt: the forecast by the prompt's length, the measurement as `univer generate`
    prints it.

    Attributes:
        prompts: tokens of each prompt.
        tokens: new tokens of each text.
        rounds: rounds of each text.
        predicted: seconds that the forecast says.
        measured: seconds that the text took.
        taus: tokens per round, where a round was not cut short.
    """

    prompts: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    predicted: list[float] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)
    taus: list[float] = field(default_factory=list)

    @property
    def predicted_speed(self) -> float:
        """Tokens per second of all texts together, as predicted."""
        return sum(self.tokens) / sum(self.predicted)

    @property
    def measured_speed(self) -> float:
        """Tokens per second of all texts together, as measured."""
        return sum(self.tokens) / sum(self.measured)

    @property
    def error(self) -> float:
        """How far the forecast is above what was measured, as a share of it."""
        return self.predicted_speed / self.measured_speed - 1

    @property
    def holds(self) -> bool:
        """Whether the error is within the tolerance."""
        return abs(self.error) <= TOLERANCE

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists for JSON."""
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
    """Generate texts and compare their speed with the forecast.

    Args:
        target: a causal language model.
        draft: what `generate` takes.
        prompts: prompts `[1, L]`, other than those that the forecast was made on.
        policy: how trees grow.
        options: further options of `generate`.
        forecast: the forecast.
        costs: what reading the prompts costs.
        new_tokens: length limit of every text.
        seed: of the texts.
        progress: called with the number of texts done and that of all.
        into: filled while the work goes on.

    Returns:
        Both, text by text.
    """
    check = into if into is not None else Check()
    for number, ids in enumerate(prompts):
        request = {**options, "tree": policy, "seed": seed + number}
        if number == 0:
            generate(target, draft, ids, **request, max_new_tokens=WARM_UP_TOKENS)
        stats = generate(target, draft, ids, **request, max_new_tokens=new_tokens).stats
        check.prompts.append(stats.prompt_tokens)
        check.tokens.append(stats.new_tokens)
        check.rounds.append(len(stats.rounds))
        check.measured.append(stats.total_seconds)
        check.predicted.append(stats.new_tokens / forecast.speed(costs, stats.new_tokens, [stats.prompt_tokens]))
        if stats.tau is not None:
            check.taus.append(stats.tau)
        progress(number + 1, len(prompts))
    return check
