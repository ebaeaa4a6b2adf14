"""The broken twins: what each does wrong, and the check that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

from univer.audit.broken_growth import UNLAWFUL
from univer.audit.broken_policies import POLICY, UNLAWFUL_POLICIES, VOCABULARY, Changed, cut_afterwards
from univer.audit.broken_rules import (
    FreshDraws,
    RawDraftForSiblings,
    SoftmaxedResidual,
    ThresholdOfTarget,
    ThresholdTooSmall,
    TokenZeroed,
)
from univer.audit.broken_verification import (
    LessOrEqual,
    UndividedScale,
    children_by_their_own_row,
    fixed_left_in,
    reuse_across_rounds,
    reuse_for_token,
)
from univer.audit.cases import family_cases
from univer.audit.enumeration import two_rounds
from univer.audit.grids import Play, audit_round, audit_rounds, small_grids, verify_by
from univer.audit.growth import Policy, grown_round
from univer.audit.models import make_model
from univer.audit.node_budgets import budgeted_rounds, grower_round
from univer.audit.policies import DEPTH
from univer.audit.rounds import Outcome, Rounds
from univer.audit.subject import Subject
from univer.couplings import Lifted, Stepwise
from univer.couplings.base import TreeCoupling
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.grow import GrowingTree
from univer.methods import Method, methods
from univer.rules import Rule
from univer.tree import DraftTree

CASES = 12
MODELS = tuple((kind, seed) for kind in ("smooth", "zeros", "peaked") for seed in range(4))
# An error below this could be rounding.
CAUGHT = 1e-6


@dataclass(frozen=True)
class Twin:
    """A wrong variant.

    Attributes:
        name: what it does wrong.
        check: which part of the audit shows it.
        shows: what `measure` gives: total variation of the output distribution of two rounds or of one grown round,
            largest error of the joint distribution of two verdicts, or the share of edge rows with another verdict.
        measure: the error.
    """

    name: str
    check: str
    shows: str
    measure: Callable[[], float]


def twins() -> list[Twin]:
    """All broken twins.

    Example:
        >>> twin = twins()[0]
        >>> twin.name, twin.measure() > CAUGHT
        ('residual softmaxed instead of normalised', True)
    """
    known = methods()
    lifted, stepwise = Lifted(), Stepwise()
    return [
        *_enumerated("residual softmaxed instead of normalised", "greedy", _broken(SoftmaxedResidual(), lifted)),
        *_enumerated("raw Q for the second sibling", "swor", _broken(RawDraftForSiblings(), stepwise)),
        *_enumerated("raw Q for the second sibling, lifted", "swor", _broken(RawDraftForSiblings(), lifted)),
        *_enumerated("fixed children not removed from S", "greedy", partial(fixed_left_in, known["univer"])),
        *_enumerated("residual of another scheme: target without the token", "chain", _broken(TokenZeroed(), stepwise)),
        *_enumerated("fresh target draw for every branch", "fixed", _broken(FreshDraws(), lifted)),
        *_enumerated("scale not divided by what remains", "greedy", _broken(known["univer"].rule, UndividedScale())),
        *_enumerated("K-SEQ threshold of P instead of the scaled target", "iid", _broken(ThresholdOfTarget(), lifted)),
        *_enumerated("K-SEQ threshold too small", "iid", _broken(ThresholdTooSmall(), stepwise)),
        *_enumerated("child tested by its own row", "greedy", partial(children_by_their_own_row, known["univer"])),
        Twin("accepted if u <= a", "grid", "share of edge rows", _edges),
        Twin(
            "uniforms reused across rounds", "two rounds", "joint distribution", partial(_rounds, reuse_across_rounds)
        ),
        Twin(
            "token drawn with the uniform of a test",
            "two rounds",
            "joint distribution",
            partial(_rounds, reuse_for_token),
        ),
        *(
            Twin(name, "grown trees", "total variation", partial(_growth, law, policy, known[method]))
            for name, (method, law, policy) in UNLAWFUL.items()
        ),
        *(
            Twin(name, "tree policies", "total variation", partial(_policy, change, known["univer"]))
            for name, change in UNLAWFUL_POLICIES.items()
        ),
        Twin(
            "grow: tree cut to its node budget after sampling, by weight",
            "node budgets",
            "total variation",
            partial(_budgets, known["univer"]),
        ),
    ]


def _broken(rule: Rule, coupling: TreeCoupling) -> Outcome:
    return _outcome(Method("broken twin", rule, coupling, "wrong on purpose"))


def _outcome(method: Method) -> Outcome:
    return Subject(method, method.order).outcome


def _enumerated(name: str, family: str, outcome: Outcome) -> list[Twin]:
    def measure() -> float:
        return max(rounds.measure(outcome).distance for rounds in _cases(family))

    return [Twin(name, "enumeration", "total variation", measure)]


@cache
def _cases(family: str) -> list[Rounds]:
    return [two_rounds(case) for case in family_cases(family, CASES, seed=0) if case.depth < 3]


def _edges() -> float:
    """Share of the edge rows, over all grids, to which `<=` gives another verdict than inside their cells."""
    method = Method("broken twin", methods()["univer"].rule, LessOrEqual(), "wrong on purpose")
    found = [audit_round(grid, verify_by(method)) for grid in small_grids(methods()["univer"], CASES, 0)]
    return sum(fault.edges for fault in found) / sum(fault.rows for fault in found)


def _rounds(twin: Callable[[Method], Play]) -> float:
    method = methods()["token"]
    grids = [grid for grid in small_grids(method, CASES, 0) if len(grid.tree) == 2]
    return max(audit_rounds(first, second, twin(method)) for first, second in pairwise(grids))


def _policy(change: Callable[[GrowingTree, TreeBuilder, int | None], DraftTree], method: Method) -> float:
    models = [make_model(kind, VOCABULARY, POLICY.max_depth + 1, seed) for kind, seed in MODELS[:4]]
    rounds = [grower_round(model, Changed(change), POLICY.max_depth) for model in models]
    return max(one.measure(_outcome(method)).distance for one in rounds)


def _budgets(method: Method) -> float:
    # On this model the budget of the first round cuts nothing off, so that the second round alone shows the fault.
    model = make_model("smooth", 3, 2 * (POLICY.max_depth + 1), seed=3)
    return budgeted_rounds(model, Changed(cut_afterwards), POLICY.max_depth).measure(_outcome(method)).distance


def _growth(law: str, policy: Policy, method: Method) -> float:
    rounds = [grown_round(make_model(kind, 3, DEPTH + 1, seed), law, policy, DEPTH) for kind, seed in MODELS]
    return max(one.measure(_outcome(method)).distance for one in rounds)
