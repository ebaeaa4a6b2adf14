"""What comes out of a training run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class TrainingResult:
    """What came out of a run.

    Attributes:
        directory: where the head is: `model.safetensors`, `config.json`, `README.md`, and `loss.png` if it was drawn.
        steps: optimiser steps.
        optimizer: which one.
        parameters: numbers in the head.
        train_texts: texts trained on.
        train_tokens: their tokens.
        valid_texts: texts that acceptance was measured on.
        coverage: share of the training texts' tokens that is in the draft vocabulary.
        acceptance: mean of `sum_x min(P(x), Q(x))` for every drafting step, with the saved weights.
        agreement: share of places with the same most probable token, likewise.
    """

    directory: str
    steps: int
    optimizer: str
    parameters: int
    train_texts: int
    train_tokens: int
    valid_texts: int
    coverage: float
    acceptance: list[float]
    agreement: list[float]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)
