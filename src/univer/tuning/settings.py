"""What to tune for and how much to measure."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from univer.engine.options import Options
from univer.methods import Method, resolve

# Options that a profile records.
RECORDED = ("order", "temperature", "top_k", "top_p", "min_p", "draft_temperature")


@dataclass(frozen=True)
class TuneSettings:
    """What to tune for and how much to measure.

    Attributes:
        options: options of the requests to tune for: method, sibling order, sampling settings, and generation
            configuration.
        max_nodes: largest tree, root excluded.
        max_depth: deepest tree.
        width: largest number of children of a node.
        contexts: number of contexts per prompt.
        new_tokens: length of the texts that contexts are taken from, and of the texts of the check.
        repeats: number of rounds timed per shape.
        seed: random seed of texts, draws and the order of timed trees.

    Raises:
        ValueError: a number is out of range.
    """

    options: Options = field(default_factory=Options)
    max_nodes: int = 64
    max_depth: int = 8
    width: int = 6
    contexts: int = 4
    new_tokens: int = 48
    repeats: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("max_nodes", "max_depth", "width", "contexts", "repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.new_tokens < 2:
            raise ValueError(f"new_tokens must be at least 2, got {self.new_tokens}")

    @property
    def method(self) -> Method:
        """The verification method."""
        return resolve(self.options.method)

    @property
    def greedy(self) -> bool:
        """Whether the temperature is 0."""
        return self.options.sampling.greedy

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain numbers and text for JSON."""
        return {
            "method": self.method.name,
            **{name: getattr(self.options, name) for name in RECORDED},
            **{entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "options"},
        }
