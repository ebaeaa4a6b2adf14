"""Check of a forecast against real texts, on prompts that were not used for measuring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Relative error from which a forecast is reported as wrong.
TOLERANCE = 0.15


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
