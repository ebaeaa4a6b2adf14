"""The trees of OPT-Tree, which stop growing when a further level does not pay."""

from __future__ import annotations

from dataclasses import dataclass

from univer.drafting.growth.confidence import ConfidenceGrower, ConfidenceSettings
from univer.drafting.growth.policy import check_number, check_size, described
from univer.drafting.shapes import Shape, with_slots


@dataclass(frozen=True)
class OptTree:
    r"""The tree of largest expected acceptance, grown while a level pays (Wang et al., OPT-Tree, arXiv 2406.17276).

    Were the draft's law the target's, a tree `T` of fixed children would have the expected accepted length

        E(T) = sum_{v in T} prod_i Q(x_i | x_<i)

    so the best `max_nodes` candidates form the best tree. Every level expands all nodes that are among them; when
    `E` grows by less than `cost`, which is what a draft pass costs in target passes, drafting ends.

    Attributes:
        max_nodes: nodes of the tree, the root left out.
        max_depth: most levels.
        top_k: most children per node.
        cost: least gain in `E` for which a further level is drafted.
        score_temperature: confidences are taken from `Q^(1 / score_temperature)`, renormalised.

    Raises:
        ValueError: a parameter out of range.
    """

    max_nodes: int = 62
    max_depth: int = 10
    top_k: int = 10
    cost: float = 0.1
    score_temperature: float = 1.0

    def __post_init__(self) -> None:
        check_size("opt", self.max_nodes, self.max_depth, self.top_k)
        check_number("opt", "cost", self.cost, 0, 1)
        check_number("opt", "temperature", self.score_temperature, 0.05, 20)

    @property
    def name(self) -> str:
        """Text form."""
        return described("opt", self)

    def widest(self, law: str) -> Shape:
        """A tree of fixed children, whatever the method's own law."""
        return with_slots(self.name, "fixed", self.max_depth, [(min(self.top_k, self.max_nodes), 0), (1, 0)])

    def start(self, law: str, *, greedy: bool) -> ConfidenceGrower:
        """Begin a request."""
        settings = ConfidenceSettings(self.max_nodes, self.top_k, self.score_temperature, least_gain=self.cost)
        return ConfidenceGrower(settings, self.max_depth)
