"""Settings of a training run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

# Covers about nine tenths of most texts; a larger output layer costs time at every drafted level.
DRAFT_VOCABULARY = 8192
VARIANT = 3


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of a training run.

    Args:
        samples: number of tokens to sample from the target; not used where texts are given.
        length: number of tokens of a sampled text, and the largest number of tokens of a piece of a given text.
        temperature: sampling temperature of the texts.
        steps: number of optimiser steps.
        batch: number of texts per step.
        unroll: number of drafting steps that every position is trained for.
        decay: weight of a drafting step in the loss, relative to the one before.
        learning_rate: peak learning rate.
        warmup: steps over which the learning rate rises; afterwards it falls along a cosine to a twentieth.
        weight_decay: weight decay of the matrices.
        clip: largest norm of the gradient.
        validate_every: steps from one validation and checkpoint to the next; by default a tenth of the steps, at most
            100.
        variant: 1 for a head of EAGLE and EAGLE-2, 3 for one of EAGLE-3; by default 3, or that of the head to start
            from.
        draft_vocabulary: number of tokens that the head can propose: the end of text, then the special tokens and the
            tokens of single bytes in the training texts, then the most frequent tokens there; by default 8192, or all
            where the target has fewer, or those of the head to start from.
        layers: hidden states that the head reads, in transformers' convention; by default a low, a middle and a high
            one, or those of the head to start from.
        seed: seed of the samples, of the head's first weights and of the order of the texts.

    Raises:
        ValueError: a setting is out of range; the message names it.

    Example:
        >>> TrainingSettings(batch=0)
        Traceback (most recent call last):
        ...
        ValueError: batch must be at least 1, not 0
    """

    samples: int = 500_000
    length: int = 320
    temperature: float = 1.0
    steps: int = 2000
    batch: int = 8
    unroll: int = 4
    decay: float = 0.9
    learning_rate: float = 2e-3
    warmup: int = 50
    weight_decay: float = 0.01
    clip: float = 1.0
    validate_every: int | None = None
    variant: int | None = None
    draft_vocabulary: int | None = None
    layers: tuple[int, ...] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"samples": 1, "length": 4, "steps": 1, "batch": 1, "unroll": 1, "warmup": 0, "seed": 0}
        least |= {"validate_every": 1, "draft_vocabulary": 1}
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < bound):
                raise ValueError(f"{name} must be at least {bound}, not {value!r}")
        for name in ("temperature", "learning_rate", "decay", "clip"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be above 0, not {value}")
        if not 0 <= self.weight_decay < 1:
            raise ValueError(f"weight_decay must be in [0, 1), not {self.weight_decay}")
        if self.variant not in (None, 1, 3):
            raise ValueError(f"variant must be 1 (EAGLE, EAGLE-2) or 3 (EAGLE-3), not {self.variant!r}")
        if self.layers is not None and not self.layers:
            raise ValueError("layers must name at least one hidden state")
        if self.variant == 1 and self.layers not in (None, (-1,)):
            raise ValueError(f"a head of variant 1 reads the last hidden state, layers -1, not {self.layers}")
        if self.length <= self.unroll:
            raise ValueError(f"length must be above unroll ({self.unroll}), not {self.length}: no position is left")

    @property
    def interval(self) -> int:
        """Steps from one validation and checkpoint to the next."""
        return self.validate_every or max(1, min(100, self.steps // 10))

    def to_dict(self) -> dict[str, Any]:
        """All settings, as values that JSON can hold."""
        values = asdict(self)
        return values | {"layers": None if self.layers is None else list(self.layers)}

    def options(self) -> dict[str, Any]:
        """The settings that differ from their defaults, for the command line."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != field.default}
