"""Expected tokens per second, from tokens per round, seconds per round and the prefill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from univer.tuning.costs import Costs


@dataclass(frozen=True)
class Forecast:
    """What to expect of a tree on some prompts, one entry per prompt.

    Of `K` new tokens the prefill yields the first, and each round `tau`. The last round exceeds the text by
    `(tau - 1) / 2` tokens on average, so

        rounds = (K - 1 + (tau - 1) / 2) / tau

    The speed is that of all texts together: all tokens divided by all time, prefill included, as `univer generate`
    prints it.

    Attributes:
        prompts: number of tokens of each prompt.
        taus: tokens per round on each prompt.
        rounds: seconds per round on each prompt.
        drafting: whether there is a draft, which then reads the prompts as well.
    """

    prompts: tuple[int, ...]
    taus: tuple[float, ...]
    rounds: tuple[float, ...]
    drafting: bool = True

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
        """Tokens per second without the prefill, which long texts approach."""
        return self.tau / self.round_seconds

    def speed(self, costs: Costs, new_tokens: int, prompts: Sequence[int] | None = None) -> float:
        """Return the tokens per second of texts, prefill included.

        Args:
            costs: gives the time of the prefill.
            new_tokens: number of new tokens of every text, at least 1.
            prompts: numbers of tokens of other prompts; the means over the measured prompts are assumed for them.
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
    """Return the expected number of rounds of a text.

    Args:
        new_tokens: number of new tokens, at least 1.
        tau: tokens per round.

    Example:
        >>> rounds_of(64, 1.0), rounds_of(65, 4.0)
        (63.0, 16.375)
    """
    return 0.0 if new_tokens <= 1 else (new_tokens - 1 + (tau - 1) / 2) / tau
