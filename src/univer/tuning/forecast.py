"""Expected tokens per second, from tokens per round, seconds per round and what comes before the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from univer.tuning.costs import Costs


@dataclass(frozen=True)
class Forecast:
    """What a tree does on some prompts, one entry for each.

    A text of `K` new tokens has one from the prompt's last row and then rounds of `tau` tokens, the last of which
    reaches beyond the end by `(tau - 1) / 2` on average:

        rounds = (K - 1 + (tau - 1) / 2) / tau

    The speed is that of all texts together: all tokens over the time of all, the reading of the prompts included, which
    is what `univer generate` prints.

    Attributes:
        prompts: tokens of each prompt.
        taus: tokens per round on each.
        rounds: seconds per round on each.
        drafting: whether the draft is asked at all, and so reads the prompts as well.
    """

    prompts: tuple[int, ...]
    taus: tuple[float, ...]
    rounds: tuple[float, ...]
    drafting: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> Forecast:
        """The forecast that `to_dict` wrote."""
        parts: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in table.items()}
        return Forecast(**parts)

    @property
    def tau(self) -> float:
        """Tokens per round over texts of equal length: the harmonic mean of the prompts'."""
        return len(self.taus) / sum(1 / tau for tau in self.taus)

    @property
    def round_seconds(self) -> float:
        """Mean time of a round over texts of equal length."""
        return sum(s / tau for s, tau in zip(self.rounds, self.taus, strict=True)) * self.tau / len(self.taus)

    @property
    def decoding_speed(self) -> float:
        """Tokens per second of long texts: the prompts, which weigh ever less, left out."""
        return self.tau / self.round_seconds

    def speed(self, costs: Costs, new_tokens: int, prompts: Sequence[int] | None = None) -> float:
        """Tokens per second of texts, their prompts included.

        Args:
            costs: what reading the prompts costs.
            new_tokens: tokens of every text, at least 1.
            prompts: tokens of other prompts, on which the means over these are expected.
        """
        if prompts is None:
            parts = list(zip(self.prompts, self.taus, self.rounds, strict=True))
        else:
            parts = [(length, self.tau, self.round_seconds) for length in prompts]
        seconds = sum(
            costs.prompt(length) + self.drafting * costs.draft_prompt(length) + rounds_of(new_tokens, tau) * spent
            for length, tau, spent in parts
        )
        return new_tokens * len(parts) / seconds


def rounds_of(new_tokens: int, tau: float) -> float:
    """Expected number of rounds of a text.

    Args:
        new_tokens: its new tokens, at least 1.
        tau: tokens per round.

    Example:
        >>> rounds_of(64, 1.0), rounds_of(65, 4.0)
        (63.0, 16.375)
    """
    return 0.0 if new_tokens <= 1 else (new_tokens - 1 + (tau - 1) / 2) / tau
