"""Trees that grow where they pay and keep sampled children."""

from __future__ import annotations

from dataclasses import dataclass

from univer.drafting.growth.base import Grower
from univer.drafting.growth.confidence import ConfidenceGrower, ConfidenceSettings
from univer.drafting.growth.grower import GrowGrower
from univer.drafting.growth.policy import check_number, check_size, described
from univer.drafting.growth.threshold import Threshold
from univer.drafting.shapes import Shape, with_slots

# Draft laws that the policy knows; duplicates, which `iid` draws, are never worth a slot.
LAWS = ("greedy", "mixed", "swor", "chain", "fixed")


@dataclass(frozen=True)
class Grow:
    r"""Slots by expected acceptance, fixed and sampled ones, decided for a whole level before it is drawn.

    A node carries a weight `w`, the estimated probability that the kept path goes through it (root 1). With the draft's
    entropy `H` there, `kappa(H)` the agreement to be expected, `F` its fixed children and `m = 1 - Q(F)` it is worth

        w (sum_{x in F} e(x) + A_r(m))

    where `e(x)` estimates that the target continues with `x` and `A_r(m)` that one of `r` sampled children is accepted;
    see `univer.drafting.growth.estimate`. Every node gets the numbers of fixed and sampled slots that are worth most
    for each total, and the best slots of the whole level win, as long as one adds `threshold` and `max_nodes` is not
    exceeded. A child's weight is what its slot adds; that of a sampled child is estimated anew from its token when it
    is known. Children of weight `threshold` or more are expanded. The request's own verdicts correct the estimates.

    Slots of a node are decided and drawn at one moment, and those of a level together before any of them is drawn, so
    every method stays exact, and the sibling order `gain` is allowed. Under the draft law `fixed`, as at temperature 0,
    the tree is the one of highest path confidence with at most `max_nodes` nodes of at least `threshold`.

    Attributes:
        max_nodes: most nodes, the root left out.
        max_depth: most levels.
        threshold: expected acceptance for which a slot is worth its place in the target pass.
        top_k: most children of a node.
        sampled: most sampled children of a node; `greedy` and `chain` have one at most.
        mean_nodes: mean number of nodes that the threshold adapts to, from the request's own trees; None to hold it.
        prior: weight of the estimates against the request's own verdicts, in accepted tokens; 0 for no learning.
        foresight: how much of the budget is kept for later levels, see `Budget`.
        score_temperature: under the draft law `fixed`, confidences are taken from `Q^(1 / score_temperature)`.

    Raises:
        ValueError: a parameter out of range.
    """

    max_nodes: int = 62
    max_depth: int = 7
    threshold: float = 0.015
    top_k: int = 10
    sampled: int = 2
    mean_nodes: float | None = None
    prior: float = 8.0
    foresight: float = 0.5
    score_temperature: float = 1.0

    def __post_init__(self) -> None:
        check_size("grow", self.max_nodes, self.max_depth, self.top_k)
        check_number("grow", "threshold", self.threshold, 1e-6, 1)
        check_number("grow", "sampled", self.sampled, 1, self.top_k, whole=True)
        if self.mean_nodes is not None:
            check_number("grow", "mean", self.mean_nodes, 1, self.max_nodes)
        check_number("grow", "prior", self.prior, 0, 1e6)
        check_number("grow", "foresight", self.foresight, 0, 10)
        check_number("grow", "temperature", self.score_temperature, 0.05, 20)

    @property
    def name(self) -> str:
        """Text form."""
        return described("grow", self)

    def most_sampled(self, law: str) -> int:
        """Most sampled children of a node under a draft law."""
        return {"fixed": 0, "greedy": 1, "chain": 1, "swor": self.top_k}.get(law, self.sampled)

    def widest(self, law: str) -> Shape:
        """Nodes with as many fixed and with as many sampled children as there can be."""
        if law not in LAWS:
            raise ValueError(
                f"the tree policy 'grow' draws no trees by the law {law!r}, which this method needs: "
                "name a shape such as '2x5'"
            )
        width, sampled = min(self.top_k, self.max_nodes), min(self.most_sampled(law), self.max_nodes)
        if law in ("swor", "chain"):
            return with_slots(self.name, law, self.max_depth, [(0, sampled), (0, 1)])
        mixed = [(width - sampled, sampled)] if width > sampled else []
        return with_slots(self.name, law, self.max_depth, [*mixed, (width, 0), (0, sampled) if sampled else (1, 0)])

    def start(self, law: str, *, greedy: bool) -> Grower:
        """Begin a request."""
        self.widest(law)
        threshold = Threshold(self.threshold, self.mean_nodes)
        if law == "fixed":
            settings = ConfidenceSettings(self.max_nodes, self.top_k, self.score_temperature)
            return ConfidenceGrower(settings, self.max_depth, self.prior, threshold)
        return GrowGrower(self, law, threshold)
