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
        order: sibling order, or None for the method's own.
        sampling: settings of the target's laws.
        draft_sampling: settings of the draft's laws.
        draft_temperature: what the caller asked for, for the record; `draft_sampling` is what counts.
        max_nodes: largest tree, the root left out.
        max_depth: deepest tree.
        width: most children of a node.
        contexts: contexts per prompt.
        new_tokens: length of the texts that contexts are taken from, and of those of the check.
        repeats: rounds timed per shape.
        seed: of texts, draws and turns.
        generation_config: in place of the target's.

    Raises:
        ValueError: a number out of range.
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
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.new_tokens < 2:
            raise ValueError(f"new_tokens must be at least 2, not {self.new_tokens}")

    @property
    def options(self) -> dict[str, Any]:
        """Options of `generate`."""
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
        """Plain numbers and text for JSON."""
        numbers = ("draft_temperature", "max_nodes", "max_depth", "width", "contexts", "new_tokens", "repeats", "seed")
        return {
            "method": self.method.name,
            "order": self.order,
            **asdict(self.sampling),
            **{name: getattr(self, name) for name in numbers},
        }
