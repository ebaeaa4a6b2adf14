"""Intervals of non-negative numbers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from univer.topology import Ints


@dataclass(frozen=True)
class Range:
    """A non-negative quantity of which only two ends are known; every operation keeps what is true inside.

    Attributes:
        low: lower ends, any shape.
        high: upper ends, the same shape.

    Example:
        >>> half = Range(torch.tensor([0.4]), torch.tensor([0.6]))
        >>> (half * half).high, half.complement().low, half.share(half).high
        (tensor([0.3600]), tensor([0.4000]), tensor([0.6000]))
    """

    low: Tensor
    high: Tensor

    @staticmethod
    def exactly(value: Tensor) -> Range:
        """A quantity that is known."""
        return Range(value, value)

    def __getitem__(self, place: Tensor) -> Range:
        return Range(self.low[place], self.high[place])

    def put(self, nodes: Ints, other: Range) -> None:
        """Set the entries of some nodes."""
        self.low[nodes], self.high[nodes] = other.low, other.high

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def complement(self) -> Range:
        """One minus a probability."""
        return Range((1 - self.high).clamp(0, 1), (1 - self.low).clamp(0, 1))

    def share(self, others: Range) -> Range:
        """`x / (x + y)` for this `x` and another `y`, 0 where both are 0: it rises with `x` and falls with `y`."""
        return Range(_share(self.low, others.high), _share(self.high, others.low))

    def sum(self) -> Range:
        """Sum over the last dimension."""
        return Range(self.low.sum(-1), self.high.sum(-1))

    def others(self) -> Range:
        """For every entry the sum of the rest of its row."""
        return Range(
            (self.low.sum(-1, keepdim=True) - self.low).clamp_(min=0),
            (self.high.sum(-1, keepdim=True) - self.high).clamp_(min=0),
        )

    def column(self) -> Range:
        """With one more dimension at the end."""
        return Range(self.low[..., None], self.high[..., None])

    def gather(self, tokens: Tensor) -> Range:
        """Entries `[n, m]` of rows `[n, V]`."""
        return Range(self.low.gather(1, tokens), self.high.gather(1, tokens))

    def without(self, tokens: Tensor) -> Range:
        """Rows `[n, V]` that are 0 at the given tokens `[n, m]`."""
        return Range(self.low.scatter(1, tokens, 0.0), self.high.scatter(1, tokens, 0.0))

    def at_most_one(self) -> Range:
        """What is a probability, whatever the arithmetic made of its ends."""
        return Range(self.low.clamp(0, 1), self.high.clamp(0, 1))


def stack(parts: list[Range]) -> Range:
    """Ranges `[n]` side by side, `[n, m]`."""
    return Range(torch.stack([part.low for part in parts], -1), torch.stack([part.high for part in parts], -1))


def join(first: Range, second: Range) -> Range:
    """Ranges `[n, k]` and `[n, m]` as `[n, k + m]`."""
    return Range(torch.cat([first.low, second.low], -1), torch.cat([first.high, second.high], -1))


def _share(part: Tensor, others: Tensor) -> Tensor:
    total = part + others
    return part / total.masked_fill(total <= 0, 1)
