"""The named verification methods, each a one-step rule and a coupling, and the registry that users extend."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from univer.couplings.base import TreeCoupling
    from univer.rules import Rule
    from univer.tree import Forest

ENTRY_POINTS = "univer.methods"


@dataclass(frozen=True)
class Colour:
    """The colour of a method in plots and pages.

    Attributes:
        light: on a light background, `#rrggbb` in lower case.
        dark: on a dark background.

    Raises:
        ValueError: one of them is not written as `#rrggbb`.
    """

    light: str
    dark: str

    def __post_init__(self) -> None:
        for value in (self.light, self.dark):
            if not re.fullmatch("#[0-9a-f]{6}", value):
                raise ValueError(f"a colour is written as #rrggbb in lower case, got {value!r}")


# One hue for each one-step rule, distinct also for readers with a colour vision deficiency, and with the contrast that
# text needs. The two methods of one rule share it: reports draw the lifted one filled and the stepwise one hollow.
MAXIMAL = Colour("#805625", "#ecbb44")
REJECTION = Colour("#5674b8", "#8ed4fc")
WITHOUT_REPLACEMENT = Colour("#0b4f94", "#5f9fe8")
K_SEQ = Colour("#00835f", "#3fcf9f")
TRANSPORT = Colour("#d1410c", "#ff8552")
MEMBERSHIP = Colour("#6e757e", "#9a989d")
MIXED = Colour("#8a266e", "#ec96cd")
PROGRAMME = Colour("#353841", "#d6dadf")
OTHER = Colour("#7253c3", "#7c7db8")


@dataclass(frozen=True)
class Method:
    """A verification method: a one-step rule and the way in which the levels of the tree are coupled.

    Attributes:
        name: what calls and commands take.
        rule: the one-step rule.
        coupling: how levels are coupled.
        paper: where it was published, or what it is.
        exact: False for a method whose output does not follow the target distribution; it is marked as lossy wherever
            methods are listed.
        order: default sibling order.
        title: the name in reports; `name` if empty.
        description: one sentence for `univer methods`.
        colour: the colour in reports.
    """

    name: str
    rule: Rule
    coupling: TreeCoupling
    paper: str
    exact: bool = True
    order: str = "drawn"
    title: str = ""
    description: str = ""
    colour: Colour = OTHER

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name)

    @property
    def draft_law(self) -> str:
        """Sampling scheme that trees for this method are drawn with by default, a name of `univer.tree.DRAFT_LAWS`."""
        return self.rule.draft_law

    def check(self, forest: Forest, order: str) -> None:
        """Raise unless the rule takes every node of the trees and the trees allow the sibling order.

        Args:
            forest: the trees.
            order: sibling order.

        Raises:
            ValueError: with the sampling scheme that the method needs, or what the order needs.
        """
        from univer.couplings.order import ORDERS, check_gain

        for group in (group for level in forest.topology.levels for group in level):
            if not self.rule.fits(forest.law, group.fixed, group.sampled):
                raise ValueError(
                    f"the method {self.name!r} needs a tree drawn by the sampling scheme {self.draft_law!r}: node "
                    f"{group.nodes[0]} of this {forest.law!r} tree has {group.fixed} fixed and {group.sampled} sampled "
                    "children"
                )
        if order not in ORDERS:
            raise ValueError(f"unknown sibling order {order!r}; known are {', '.join(ORDERS)}")
        if order == "gain" and self.coupling.uses_order:
            check_gain(forest, self.rule)

    def check_vocabulary(self, forest: Forest, size: int) -> None:
        """Raise if the vocabulary is too large for the rule.

        Args:
            forest: trees with the slots that are planned.
            size: number of tokens.

        Raises:
            ValueError: with the limit.
        """
        from univer.rules import BoundedRule

        if isinstance(self.rule, BoundedRule):
            for group in (group for level in forest.topology.levels for group in level):
                self.rule.check_vocabulary(size, forest.law, group.sampled)


@dataclass(frozen=True)
class Row:
    """A built-in method before its rule is imported, so that listing the methods needs no torch.

    Attributes:
        name: as in `Method`.
        rule: name of the rule's class in `univer.rules`.
        draft_law: that of the rule; a test holds the two equal.
        coupling: `"stepwise"` or `"lifted"`.
        paper: as in `Method`.
        title: as in `Method`.
        description: as in `Method`.
        colour: as in `Method`.
    """

    name: str
    rule: str
    draft_law: str
    coupling: str
    paper: str
    title: str
    description: str
    colour: Colour


# The rows of the built-in methods.
BUILT_IN = (
    Row(
        "token",
        "MaximalCoupling",
        "chain",
        "stepwise",
        "Leviathan et al., arXiv 2211.17192",
        title="Token",
        description="Token verification: tests a chain token by token; the classic of speculative sampling.",
        colour=MAXIMAL,
    ),
    Row(
        "block",
        "MaximalCoupling",
        "chain",
        "lifted",
        "Sun et al., arXiv 2403.10444",
        title="Block",
        description="Block Verification: tests a chain as a whole and keeps more of it than `token`.",
        colour=MAXIMAL,
    ),
    Row(
        "rrs",
        "RecursiveRejection",
        "iid",
        "stepwise",
        "SpecInfer, arXiv 2305.09781",
        title="RRS",
        description="Recursive rejection sampling (RRS): tests independently drawn children one after the other.",
        colour=REJECTION,
    ),
    Row(
        "rrs-lifted",
        "RecursiveRejection",
        "iid",
        "lifted",
        "lifted recursive rejection",
        title="RRS, lifted",
        description="RRS with prefix scales: verifies the tree as a whole.",
        colour=REJECTION,
    ),
    Row(
        "rrsw",
        "RecursiveRejectionWithoutReplacement",
        "swor",
        "stepwise",
        "arXiv 2402.14160; Sequoia, arXiv 2402.12374",
        title="RRSw",
        description="RRS without replacement (RRSw): siblings never repeat; the usual baseline for trees.",
        colour=WITHOUT_REPLACEMENT,
    ),
    Row(
        "traversal",
        "RecursiveRejectionWithoutReplacement",
        "swor",
        "lifted",
        "Traversal Verification, arXiv 2505.12398",
        title="Traversal",
        description="Traversal Verification: RRSw with prefix scales.",
        colour=WITHOUT_REPLACEMENT,
    ),
    Row(
        "spectr",
        "KSeq",
        "iid",
        "stepwise",
        "SpecTr, arXiv 2310.15141",
        title="SpecTr",
        description="Sequential selection among K independent draws at one threshold (K-SEQ).",
        colour=K_SEQ,
    ),
    Row(
        "spectr-lifted",
        "KSeq",
        "iid",
        "lifted",
        "lifted K-SEQ",
        title="SpecTr, lifted",
        description="K-SEQ with prefix scales.",
        colour=K_SEQ,
    ),
    Row(
        "greedy",
        "GreedyTransport",
        "greedy",
        "stepwise",
        "Hu et al., arXiv 2502.18779",
        title="Greedy",
        description="The same children as `univer`, verified level by level.",
        colour=TRANSPORT,
    ),
    Row(
        "univer",
        "GreedyTransport",
        "greedy",
        "lifted",
        "UniVer, arXiv 2605.04543",
        title="UniVer",
        description="Use this one: likely tokens and one sampled token per node, verified as a whole tree.",
        colour=TRANSPORT,
    ),
    Row(
        "membership",
        "Membership",
        "fixed",
        "stepwise",
        "target-only, EAGLE-2, arXiv 2406.16858",
        title="Membership",
        description="Samples from the target and follows the token if it was drafted; takes any tree.",
        colour=MEMBERSHIP,
    ),
    Row(
        "mixed",
        "MixedRejection",
        "mixed",
        "stepwise",
        "fixed children and recursive rejection",
        title="Mixed",
        description="The draft's most likely tokens and several sampled tokens per node.",
        colour=MIXED,
    ),
    Row(
        "univer-mixed",
        "MixedRejection",
        "mixed",
        "lifted",
        "fixed children and recursive rejection, lifted",
        title="UniVer, mixed",
        description="`mixed` with prefix scales.",
        colour=MIXED,
    ),
    Row(
        "optimal",
        "OptimalTransport",
        "swor",
        "stepwise",
        "SpecTr's OTM by linear programme, arXiv 2310.15141",
        title="Optimal",
        description="Optimal transport by a linear programme per node (OTM); small vocabularies only.",
        colour=PROGRAMME,
    ),
    Row(
        "optimal-lifted",
        "OptimalTransport",
        "swor",
        "lifted",
        "OTM by linear programme, lifted",
        title="Optimal, lifted",
        description="OTM with prefix scales; small vocabularies only.",
        colour=PROGRAMME,
    ),
)

_registry: dict[str, Method] = {}


def listed() -> list[Row | Method]:
    """What `univer methods` lists: built-in methods by their rows, and the methods of installed packages."""
    if entry_points(group=ENTRY_POINTS) or _registry:
        return list(methods().values())
    return list(BUILT_IN)


def methods() -> dict[str, Method]:
    """All known methods by name: the built-in ones, those of installed entry points, and those registered by call.

    Example:
        >>> methods()["univer"].coupling.name
        'lifted'
    """
    _load_built_in()
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
    _load_built_in()
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


def _load_built_in() -> None:
    """Register the built-in methods on first use, as their rules need torch."""
    if BUILT_IN[0].name in _registry:
        return
    from univer import rules
    from univer.couplings import Lifted, Stepwise

    couplings: dict[str, TreeCoupling] = {"stepwise": Stepwise(), "lifted": Lifted()}
    for row in BUILT_IN:
        _registry[row.name] = Method(
            row.name,
            getattr(rules, row.rule)(),
            couplings[row.coupling],
            row.paper,
            title=row.title,
            description=row.description,
            colour=row.colour,
        )


@cache
def _load_entry_points() -> None:
    """Register the methods of installed packages; one that cannot be had is left out with a warning."""
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            register(entry.load())
        except Exception as error:  # whatever a foreign package does must not take the other methods away
            origin = entry.dist.name if entry.dist else entry.value
            warnings.warn(f"the method {entry.name!r} of {origin} is left out: {error}", stacklevel=3)
