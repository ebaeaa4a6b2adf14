"""The broken twins: what each does wrong, and the check that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

from univer.audit.broken_decisions import (
    LessOrEqual,
    UndividedScale,
    fixed_left_in,
    own_row,
    reuse_across_rounds,
    reuse_for_token,
)
from univer.audit.broken_growth import UNLAWFUL
from univer.audit.broken_policies import POLICY, UNLAWFUL_POLICIES, VOCABULARY, Changed, CutAfterwards
from univer.audit.broken_rules import (
    FreshDraws,
    RawDraftForSiblings,
    SoftmaxedResidual,
    ThresholdOfTarget,
    ThresholdTooSmall,
    TokenZeroed,
)
from univer.audit.cases import family_cases
from univer.audit.decision import Play, audit_decision, audit_rounds, method_decide, small_grids
from univer.audit.growth import Grown, Policy, grown_trees
from univer.audit.models import make_model
from univer.audit.node_budgets import BudgetedRounds
from univer.audit.policies import DEPTH
from univer.audit.product_growth import product_trees
from univer.audit.rounds import Enumeration, Outcome
from univer.couplings import Lifted, Stepwise
from univer.couplings.base import TreeCoupling
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth.grow import GrowingTree
from univer.methods import Method, methods
from univer.rules import Rule
from univer.tree import DraftTree
from univer.verdict import outcome_law

CASES = 12
MODELS = tuple((kind, seed) for kind in ("smooth", "zeros", "peaked") for seed in range(4))
# A twin whose law is off by less than this would pass for rounding.
CAUGHT = 1e-6


@dataclass(frozen=True)
class Twin:
    """A wrong variant.

    Attributes:
        name: what it does wrong.
        check: which part of the audit shows it.
        shows: what `error` is: total variation of the output law of two rounds or of one grown round, largest error of
            the joint law of two verdicts, or the share of edge rows that are decided otherwise.
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
        *_law("residual softmaxed instead of normalised", "greedy", _broken(SoftmaxedResidual(), lifted)),
        *_law("raw Q for the second sibling", "swor", _broken(RawDraftForSiblings(), stepwise)),
        *_law("raw Q for the second sibling, lifted", "swor", _broken(RawDraftForSiblings(), lifted)),
        *_law("fixed children not removed from S", "greedy", partial(fixed_left_in, known["univer"])),
        *_law("residual of another scheme: target without the token", "chain", _broken(TokenZeroed(), stepwise)),
        *_law("fresh target draw for every branch", "fixed", _broken(FreshDraws(), lifted)),
        *_law("scale not divided by what remains", "greedy", _broken(known["univer"].rule, UndividedScale())),
        *_law("K-SEQ threshold of P instead of the scaled target", "iid", _broken(ThresholdOfTarget(), lifted)),
        *_law("K-SEQ threshold too small", "iid", _broken(ThresholdTooSmall(), stepwise)),
        *_law("child judged by its own row", "greedy", partial(own_row, known["univer"])),
        Twin("accepted if u <= a", "grid", "edge rows decided otherwise", _edges),
        Twin("uniforms reused across rounds", "two rounds", "joint law", partial(_rounds, reuse_across_rounds)),
        Twin("token drawn with the coin of a test", "two rounds", "joint law", partial(_rounds, reuse_for_token)),
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
    method = Method("broken twin", rule, coupling, "wrong on purpose")
    return lambda forest, targets: outcome_law(forest, targets, method)


def _law(name: str, family: str, outcome: Outcome) -> list[Twin]:
    def measure() -> float:
        return max(enumeration.measure(outcome).distance for enumeration in _enumerations(family))

    return [Twin(name, "enumeration", "total variation", measure)]


@cache
def _enumerations(family: str) -> list[Enumeration]:
    return [Enumeration(case) for case in family_cases(family, CASES, seed=0) if case.depth < 3]


def _edges() -> float:
    """Share of the edge rows, over all grids, that `<=` decides otherwise than the cell it belongs to."""
    method = Method("broken twin", methods()["univer"].rule, LessOrEqual(), "wrong on purpose")
    found = [audit_decision(grid, method_decide(method)) for grid in small_grids(methods()["univer"], CASES, 0)]
    return sum(fault.edges for fault in found) / sum(fault.rows for fault in found)


def _rounds(twin: Callable[[Method], Play]) -> float:
    method = methods()["token"]
    grids = [grid for grid in small_grids(method, CASES, 0) if len(grid.tree) == 2]
    return max(audit_rounds(first, second, twin(method)) for first, second in pairwise(grids))


def _policy(change: Callable[[GrowingTree, TreeBuilder], DraftTree], method: Method) -> float:
    outcome: Outcome = lambda forest, targets: outcome_law(forest, targets, method)  # noqa: E731
    models = [make_model(kind, VOCABULARY, POLICY.max_depth + 1, seed) for kind, seed in MODELS[:4]]
    return max(
        Grown(model, product_trees(Changed(change), model, POLICY.max_depth), POLICY.max_depth)
        .measure(outcome)
        .distance
        for model in models
    )


def _budgets(method: Method) -> float:
    outcome: Outcome = lambda forest, targets: outcome_law(forest, targets, method)  # noqa: E731
    # On this model the budget of the first round cuts nothing off, so that the second round alone shows the fault.
    model = make_model("smooth", 3, 2 * (POLICY.max_depth + 1), seed=3)
    return BudgetedRounds(model, CutAfterwards(), POLICY.max_depth).measure(outcome).distance


def _growth(law: str, policy: Policy, method: Method) -> float:
    models = [make_model(kind, 3, DEPTH + 1, seed) for kind, seed in MODELS]
    outcome: Outcome = lambda forest, targets: outcome_law(forest, targets, method)  # noqa: E731
    return max(Grown(model, grown_trees(model, law, policy), DEPTH).measure(outcome).distance for model in models)
