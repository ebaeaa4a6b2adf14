"""Layers that a target skips when it drafts for itself: cost and acceptance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_CHAIN = 16


@dataclass(frozen=True)
class SkipSet:
    """Layers to skip, with the cost and the acceptance of the resulting draft.

    Attributes:
        layers: indices of the skipped layers, rising.
        overlap: mean over the positions of `sum_x min(P(x), Q(x))`, the probability that a token sampled from the draft
            is accepted.
        seconds: time of a draft pass over one token; None if nothing was timed.
        target_seconds: time of a target pass over one token; None likewise.
    """

    layers: tuple[int, ...]
    overlap: float
    seconds: float | None = None
    target_seconds: float | None = None

    @property
    def cost(self) -> float | None:
        """Cost of a draft pass in target passes."""
        return self.seconds / self.target_seconds if self.seconds is not None and self.target_seconds else None

    @property
    def draft(self) -> str:
        """The text for the option `--draft`."""
        return skip_text(self.layers)

    @property
    def chain(self) -> tuple[int, float] | None:
        """Length and speed-up of the best chain, see `best_chain`; None if nothing was timed."""
        return None if self.cost is None else best_chain(self.overlap, self.cost)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, text and lists for JSON."""
        length, ratio = self.chain or (None, None)
        return {
            "draft": self.draft,
            "layers": list(self.layers),
            "acceptance": self.overlap,
            "seconds": self.seconds,
            "cost": self.cost,
            "chain": length,
            "ratio": ratio,
        }


def best_chain(overlap: float, cost: float) -> tuple[int, float]:
    """Find the chain length with the largest speed-up over plain decoding.

        max over L >= 1 of (1 - a^(L + 1)) / ((1 - a) (L c + 1))

    Args:
        overlap: `a`, the probability that a drafted token is accepted, assumed to be the same everywhere.
        cost: `c`, the cost of a draft pass in target passes.

    Returns:
        The length, at most `LONGEST_CHAIN`, and the speed-up.

    References:
        Leviathan et al., arXiv 2211.17192, Theorem 3.8.

    Example:
        >>> best_chain(0.8, 0.1)
        (6, 2.46...)
    """

    def ratio(length: int) -> float:
        return sum(overlap**place for place in range(length + 1)) / (length * cost + 1)

    return max(((length, ratio(length)) for length in range(1, LONGEST_CHAIN + 1)), key=lambda pair: pair[1])


def skip_text(layers: Sequence[int]) -> str:
    """Return the text for the option `--draft` that skips some layers.

    Args:
        layers: indices of the layers, rising.

    Example:
        >>> skip_text([3, 16, 17, 18])
        'skip=3,16-18'
    """
    runs: list[list[int]] = []
    for layer in layers:
        if runs and runs[-1][-1] == layer - 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return "skip=" + ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
