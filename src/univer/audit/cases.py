"""The cases of the audit: a shape, how its children are drawn, and a small model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from univer.audit.models import KINDS, TableModel, make_model
from univer.drafting.shapes import Shape, parse_shape
from univer.methods import Method
from univer.rules import Membership, OptimalTransport


@dataclass(frozen=True)
class Case:
    """One small problem that is enumerated.

    Attributes:
        family: which list of `FAMILIES` it comes from.
        shape: the tree as planned, with its sampling scheme.
        vocabulary: V.
        kind: kind of the model, see `models.KINDS`.
        seed: of the model.
        guesses: whether fixed children are ranked by numbers unrelated to the draft.
        drop: what is taken out of the drawn tree: `""` nothing, `"fixed"` each node's last fixed child if nothing is
            planned below it, `"tokens"` every child with an odd token and all below it.
    """

    family: str
    shape: Shape
    vocabulary: int
    kind: str
    seed: int
    guesses: bool = False
    drop: str = ""

    @property
    def law(self) -> str:
        """Sampling scheme."""
        return self.shape.law

    @cached_property
    def depth(self) -> int:
        """Depth of the shape."""
        return self.shape.depth

    @property
    def length(self) -> int:
        """Most tokens that two rounds put out."""
        return 2 * (self.depth + 1)

    @property
    def name(self) -> str:
        """Its name in reports."""
        sampled = sorted({count for count in self.shape.sampled if count})
        slots = f" r={'/'.join(map(str, sampled))}" if self.law == "mixed" else ""
        extra = (" guesses" if self.guesses else "") + (f" drop {self.drop}" if self.drop else "")
        return f"{self.law} {self.shape.name}{slots} V={self.vocabulary} {self.kind}{extra} #{self.seed}"

    def model(self, dtype: torch.dtype = torch.float64, length: int | None = None) -> TableModel:
        """Its model, deterministic, with the rows that two rounds or outputs of another length need."""
        return make_model(self.kind, self.vocabulary, length or self.length, self.seed, dtype, self.guesses)


@dataclass(frozen=True)
class Plan:
    """Shape and vocabulary of some cases.

    Attributes:
        tree: what `parse_shape` takes.
        vocabulary: V.
        sampled: number of sampled children per node under `mixed`.
    """

    tree: str | tuple[tuple[int, ...], ...]
    vocabulary: int
    sampled: int | None = None

    def shape(self, law: str) -> Shape:
        """The planned tree."""
        shape = parse_shape(self.tree, law, self.sampled)
        if isinstance(self.tree, str):
            return shape
        text = ",".join("".join(map(str, path)) for path in self.tree)
        return Shape(text, shape.parents, law, shape.fixed, shape.sampled)


# Unbalanced trees as paths of child ranks.
LEFT = ((0,), (1,), (0, 0))
RIGHT = ((0,), (1,), (1, 0), (1, 1))
WIDE = ((0,), (1,), (2,), (0, 0), (2, 0))
DEEP = ((0,), (1,), (0, 0), (1, 0), (0, 0, 0))
LAST = ((0,), (1,), (2,), (2, 0), (2, 1), (2, 0, 0))
THIN = ((0,), (1,), (0, 0), (0, 0, 0))

# Sampling scheme, what is dropped, and the plans.
FAMILIES: dict[str, tuple[str, str, tuple[Plan, ...]]] = {
    "chain": (
        "chain",
        "",
        (Plan("chain-2", 4), Plan("chain-3", 3), Plan("chain-1", 6), Plan("chain-3", 2), Plan("chain-2", 5)),
    ),
    "iid": (
        "iid",
        "",
        (Plan("2x1", 4), Plan("2x2", 2), Plan(LEFT, 4), Plan("3x1", 5), Plan(RIGHT, 3), Plan(DEEP, 2), Plan("2x2", 3)),
    ),
    "swor": (
        "swor",
        "",
        (Plan("2x1", 6), Plan("2x2", 3), Plan(LEFT, 4), Plan("3x1", 5), Plan(RIGHT, 4), Plan(DEEP, 3), Plan("3x2", 3)),
    ),
    "greedy": (
        "greedy",
        "",
        (Plan("2x2", 4), Plan("3x2", 4), Plan("3x1", 6), Plan("2x3", 3), Plan(WIDE, 5), Plan(DEEP, 3), Plan(LAST, 4)),
    ),
    "mixed": (
        "mixed",
        "",
        (
            *(Plan("3x1", 5, 2), Plan(WIDE, 4, 2), Plan("4x1", 6, 2), Plan("3x2", 3, 2), Plan(RIGHT, 4, 2)),
            *(Plan("4x1", 5, 3), Plan(DEEP, 3, 2), Plan(WIDE, 4, 1), Plan(LAST, 4, 2)),
        ),
    ),
    "fixed": ("fixed", "", (Plan("2x2", 4), Plan("3x2", 5), Plan("2x3", 3), Plan(WIDE, 6), Plan("4x1", 4))),
    "dropped": ("greedy", "fixed", (Plan("3x2", 4), Plan(WIDE, 4), Plan(LAST, 3))),
    "dropped-mixed": ("mixed", "fixed", (Plan("3x2", 4, 1), Plan(((0,), (1,), (2,), (3,), (0, 0), (2, 0)), 4, 2))),
    "pruned": ("swor", "tokens", (Plan("2x2", 3), Plan(RIGHT, 4), Plan(DEEP, 3))),
    "pruned-mixed": ("mixed", "tokens", (Plan("3x2", 3, 2), Plan(WIDE, 4, 2))),
    "pruned-iid": ("iid", "tokens", (Plan(RIGHT, 3),)),
    # For rules that solve a linear programme at every node.
    "small-swor": (
        "swor",
        "",
        (Plan("2x1", 4), Plan(LEFT, 3), Plan("2x2", 2), Plan(THIN, 2), Plan("3x1", 4), Plan(LEFT, 4)),
    ),
    "small-iid": ("iid", "", (Plan("2x1", 3), Plan(LEFT, 2), Plan("3x1", 3), Plan(THIN, 2))),
    "small-greedy": ("greedy", "", (Plan("2x2", 3), Plan("3x1", 5), Plan(LEFT, 4))),
    "small-mixed": ("mixed", "", (Plan("3x1", 4, 2), Plan("2x2", 2, 1), Plan("4x1", 5, 3))),
}
# One large case per scheme, close to the limit on the number of drafted trees, and one beyond it.
LARGE = {"iid": Plan("2x2", 4), "swor": Plan("2x2", 4), "greedy": Plan("3x2", 6), "mixed": Plan("3x2", 4, 2)}
BEYOND = {"iid": Plan("3x2", 4), "swor": Plan("3x2", 5), "greedy": Plan("2x3", 6), "mixed": Plan("4x2", 6, 3)}
RANKED = ("greedy", "mixed", "fixed")
SHARE_OF_OTHER_LAWS = 4


def family_cases(family: str, count: int, seed: int) -> list[Case]:
    """The first `count` cases of a family: its plans and all kinds of models in turn.

    Args:
        family: key of `FAMILIES`.
        count: how many.
        seed: added to the models' seeds.

    Example:
        >>> family_cases("chain", 2, seed=0)[1].name
        'chain chain-3 V=3 zeros #1'
    """
    law, drop, plans = FAMILIES[family]
    cases = []
    for number in range(count):
        plan = plans[number % len(plans)]
        # A full turn of the plans moves the kinds on by one, whether or not their numbers share a factor.
        kind = KINDS[(number + number // len(plans)) % len(KINDS)]
        guesses = law in RANKED and number % 3 == 2
        cases.append(Case(family, plan.shape(law), plan.vocabulary, kind, seed * 1000 + number, guesses, drop))
    return cases


def method_cases(method: Method, count: int, seed: int, large: bool = True) -> list[Case]:
    """The cases of a method: its own sampling scheme, the other schemes that it takes, and one beyond the limit.

    Args:
        method: the method.
        count: number of cases of its own scheme; a quarter as many of each other one.
        seed: of the models.
        large: whether to add one case close to the limit on the number of drafted trees.
    """
    own, costly = method.draft_law, isinstance(method.rule, OptimalTransport)
    cases: list[Case] = []
    for family, (_, drop, _) in FAMILIES.items():
        if (drop == "tokens" and not isinstance(method.rule, Membership)) or family.startswith("small") != costly:
            continue
        share = count if family.removeprefix("small-") == own else max(1, count // SHARE_OF_OTHER_LAWS)
        cases += [case for case in family_cases(family, share, seed) if _fits(method, case)]
    for plans in () if costly else (LARGE, BEYOND) if large else (BEYOND,):
        if own in plans:
            cases.append(Case(own, plans[own].shape(own), plans[own].vocabulary, "smooth", seed * 1000 + count))
    return cases


def _fits(method: Method, case: Case) -> bool:
    pairs: Sequence[tuple[int, int]] = list(zip(case.shape.fixed, case.shape.sampled, strict=True))
    return all(method.rule.fits(case.law, fixed, sampled) for fixed, sampled in pairs if fixed + sampled)
