"""What to tune for and how much to measure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from univer.engine import Sampling
from univer.methods import Method


@dataclass(frozen=True)
class TuneSettings:
    """What to tune for and how much to measure.

    Attributes:
        method: the verification method.
        order: sibling order; None for the method's default.
        sampling: sampling settings of the target.
        draft_sampling: sampling settings of the draft.
        draft_temperature: temperature that the user gave for the draft, only written to the profile.
        max_nodes: largest tree, root excluded.
        max_depth: deepest tree.
        width: largest number of children of a node.
        contexts: number of contexts per prompt.
        new_tokens: length of the texts that contexts are taken from, and of the texts of the check.
        repeats: number of rounds timed per shape.
        seed: random seed of texts, draws and the order of timed trees.
        generation_config: generation configuration in place of the target's.

    Raises:
        ValueError: a number is out of range.
    """

    method: Method
    order: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    draft_sampling: Sampling = field(default_factory=Sampling)
    draft_temperature: float | None = None
    max_nodes: int = 64
    max_depth: int = 8
    width: int = 6
    contexts: int = 4
    new_tokens: int = 48
    repeats: int = 5
    seed: int = 0
    generation_config: Any = None

    def __post_init__(self) -> None:
        for name in ("max_nodes", "max_depth", "width", "contexts", "repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.new_tokens < 2:
            raise ValueError(f"new_tokens must be at least 2, got {self.new_tokens}")

    @property
    def options(self) -> dict[str, Any]:
        """Options for `generate`."""
        sampling = self.sampling
        return {
            "method": self.method,
            "order": self.order,
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "top_p": sampling.top_p,
            "min_p": sampling.min_p,
            "draft_sampling": self.draft_sampling,
            "generation_config": self.generation_config,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain numbers and text for JSON."""
        numbers = ("draft_temperature", "max_nodes", "max_depth", "width", "contexts", "new_tokens", "repeats", "seed")
        return {
            "method": self.method.name,
            "order": self.order,
            **asdict(self.sampling),
            **{name: getattr(self, name) for name in numbers},
        }
