"""The result of a training run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training run.

    Attributes:
        directory: where the head is: `model.safetensors`, `config.json`, `README.md`, and `loss.png` if it was drawn.
        steps: number of optimiser steps.
        optimizer: its name.
        parameters: number of the head's parameters.
        train_texts: number of training texts.
        train_tokens: number of their tokens.
        valid_texts: number of validation texts.
        coverage: share of the training texts' tokens that is in the draft vocabulary.
        acceptance: mean of `sum_x min(P(x), Q(x))` for every drafting step, with the saved weights.
        agreement: share of positions with the same most probable token, likewise.
        best_step: the step whose weights are saved, those with the highest acceptance in validation; None for runs of
            older versions, which saved the last ones.
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
    best_step: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """All attributes by name."""
        return asdict(self)
