"""The dynamic trees of EAGLE-2."""

from __future__ import annotations

from dataclasses import dataclass

from univer.drafting.growth.confidence import ConfidenceGrower, ConfidenceSettings
from univer.drafting.growth.policy import check_number, check_size, described
from univer.drafting.shapes import Shape, with_slots


@dataclass(frozen=True)
class Eagle2:
    r"""Top-k per node by path confidence, cut to the best nodes at the end (Li et al., EAGLE-2, arXiv 2406.16858).

    The confidence of a path is `prod_i Q(x_i | x_<i)`. *Expansion*: the root gets the `top_k` likeliest tokens; of each
    level the `top_k` nodes of highest confidence get `top_k` children each, down to `max_depth`. *Reranking*: of all
    nodes the `max_nodes` of highest confidence stay. All children are fixed, without which leaving nodes out would not
    be lossless, so every rule is membership on such a tree.

    Attributes:
        max_nodes: nodes that stay, the root left out.
        max_depth: levels.
        top_k: children per node, and nodes expanded per level.
        score_temperature: confidences are taken from `Q^(1 / score_temperature)`, renormalised.

    Raises:
        ValueError: a parameter out of range.
    """

    max_nodes: int = 62
    max_depth: int = 6
    top_k: int = 10
    score_temperature: float = 1.0

    def __post_init__(self) -> None:
        check_size("eagle2", self.max_nodes, self.max_depth, self.top_k)
        check_number("eagle2", "temperature", self.score_temperature, 0.05, 20)

    @property
    def name(self) -> str:
        """Text form."""
        return described("eagle2", self)

    def widest(self, law: str) -> Shape:
        """A tree of fixed children, whatever the method's own law."""
        return with_slots(self.name, "fixed", self.max_depth, [(min(self.top_k, self.max_nodes), 0), (1, 0)])

    def start(self, law: str, *, greedy: bool) -> ConfidenceGrower:
        """Begin a request."""
        settings = ConfidenceSettings(self.max_nodes, self.top_k, self.score_temperature, beam=self.top_k)
        return ConfidenceGrower(settings, self.max_depth)
