"""The named verification methods, each a one-step rule and a coupling, and the registry that users extend."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from univer.couplings import Lifted, Stepwise
from univer.couplings.base import TreeCoupling
from univer.couplings.order import ORDERS, check_gain
from univer.rules import (
    BoundedRule,
    GreedyTransport,
    KSeq,
    MaximalCoupling,
    Membership,
    MixedRejection,
    OptimalTransport,
    RecursiveRejection,
    RecursiveRejectionWithoutReplacement,
    Rule,
)
from univer.tree import Forest

ENTRY_POINTS = "univer.methods"


@dataclass(frozen=True)
class Method:
    """A verification method: one-step rule x coupling.

    Attributes:
        name: how it is called.
        rule: the one-step rule.
        coupling: how levels are coupled.
        paper: where it was published, or what it is.
        exact: False for a method that does not keep the target's law; it is shown as such wherever methods are listed.
        order: sibling order by default.
    """

    name: str
    rule: Rule
    coupling: TreeCoupling
    paper: str
    exact: bool = True
    order: str = "drawn"

    @property
    def draft_law(self) -> str:
        """The draft law that trees for this method are drawn with by default."""
        return self.rule.draft_law

    def check(self, forest: Forest, order: str) -> None:
        """Refuse trees that the rule does not take and orders that the trees do not allow.

        Args:
            forest: the trees.
            order: sibling order.

        Raises:
            ValueError: with the law that the method needs.
        """
        for group in (group for level in forest.topology.levels for group in level):
            if not self.rule.fits(forest.law, group.fixed, group.sampled):
                raise ValueError(
                    f"the method {self.name!r} needs a tree drawn by the law {self.draft_law!r}: node {group.nodes[0]} "
                    f"of this {forest.law!r} tree has {group.fixed} fixed and {group.sampled} sampled children"
                )
        if order not in ORDERS:
            raise ValueError(f"unknown sibling order {order!r}; known are {', '.join(ORDERS)}")
        if order == "gain" and self.coupling.uses_order:
            check_gain(forest, self.rule)

    def check_vocabulary(self, forest: Forest, size: int) -> None:
        """Refuse a vocabulary that the rule cannot handle.

        Args:
            forest: trees with the slots that are planned.
            size: number of tokens.

        Raises:
            ValueError: with the limit.
        """
        if isinstance(self.rule, BoundedRule):
            for group in (group for level in forest.topology.levels for group in level):
                self.rule.check_vocabulary(size, forest.law, group.sampled)


def _built_in() -> dict[str, Method]:
    stepwise, lifted = Stepwise(), Lifted()
    rows: list[tuple[str, Rule, TreeCoupling, str]] = [
        ("token", MaximalCoupling(), stepwise, "Leviathan et al., arXiv 2211.17192"),
        ("block", MaximalCoupling(), lifted, "Sun et al., arXiv 2403.10444"),
        ("rrs", RecursiveRejection(), stepwise, "SpecInfer, arXiv 2305.09781"),
        ("rrs-lifted", RecursiveRejection(), lifted, "lifted recursive rejection"),
        ("rrsw", RecursiveRejectionWithoutReplacement(), stepwise, "arXiv 2402.14160; Sequoia, arXiv 2402.12374"),
        ("traversal", RecursiveRejectionWithoutReplacement(), lifted, "Traversal Verification, arXiv 2505.12398"),
        ("spectr", KSeq(), stepwise, "SpecTr, arXiv 2310.15141"),
        ("spectr-lifted", KSeq(), lifted, "lifted K-SEQ"),
        ("greedy", GreedyTransport(), stepwise, "Hu et al., arXiv 2502.18779"),
        ("univer", GreedyTransport(), lifted, "UniVer, arXiv 2605.04543"),
        ("membership", Membership(), stepwise, "target-only, EAGLE-2, arXiv 2406.16858"),
        ("mixed", MixedRejection(), stepwise, "fixed children and recursive rejection"),
        ("univer-mixed", MixedRejection(), lifted, "fixed children and recursive rejection, lifted"),
        ("optimal", OptimalTransport(), stepwise, "SpecTr's OTM by linear programme, arXiv 2310.15141"),
        ("optimal-lifted", OptimalTransport(), lifted, "OTM by linear programme, lifted"),
    ]
    return {name: Method(name, rule, coupling, paper) for name, rule, coupling, paper in rows}


_registry: dict[str, Method] = _built_in()


def methods() -> dict[str, Method]:
    """All known methods by name: the built-in ones, those of installed entry points, and those registered by call.

    Example:
        >>> methods()["univer"].coupling.name
        'lifted'
    """
    _load_entry_points()
    return dict(_registry)


def register(method: Method) -> Method:
    """Add a method of your own; from then on its name is accepted everywhere.

    Packages can do the same with an entry point of the group `univer.methods` that names a `Method`.

    Args:
        method: the method; a lossy one says `exact=False`.

    Returns:
        The method.

    Raises:
        ValueError: the name is taken.
        TypeError: not a `Method`.
    """
    if not isinstance(method, Method):
        raise TypeError(f"register takes a univer.Method, got {type(method).__name__}")
    if method.name in _registry:
        raise ValueError(f"a method named {method.name!r} exists already")
    _registry[method.name] = method
    return method


def resolve(method: str | Method) -> Method:
    """The method that a name or an object stands for.

    Raises:
        ValueError: unknown name; the message lists the known ones.
        TypeError: neither a name nor a `Method`.
    """
    if isinstance(method, Method):
        return method
    if not isinstance(method, str):
        raise TypeError(f"a method is a name or a univer.Method, got {type(method).__name__}")
    known = methods()
    if method not in known:
        raise ValueError(f"unknown method {method!r}; known are {', '.join(known)}")
    return known[method]


@cache
def _load_entry_points() -> None:
    """Register the methods of installed packages; one that cannot be had is left out with a warning."""
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            register(entry.load())
        except Exception as error:  # whatever a foreign package does must not take the other methods away
            origin = entry.dist.name if entry.dist else entry.value
            warnings.warn(f"the method {entry.name!r} of {origin} is left out: {error}", stacklevel=3)
