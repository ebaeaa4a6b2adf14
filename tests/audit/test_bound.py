"""The bound: what is known to be optimal attains it, and nothing exceeds it."""

import pytest

import univer
from univer.audit.bound import TOLERANCE, BoundTooLargeError, accepted_length_bound
from univer.audit.cases import Case, Plan, family_cases
from univer.audit.enumeration import first_round, two_rounds


def bound(case: Case) -> float:
    model = case.model()
    return accepted_length_bound(first_round(case, model), model, case.depth)


def accepted(case: Case, method: str) -> float:
    law = univer.methods()[method]
    return two_rounds(case).measure(lambda forest, targets: univer.outcome_law(forest, targets, law)).accepted


def test_block_is_optimal_on_chains_and_token_verification_is_not() -> None:
    gaps = []
    for case in family_cases("chain", 12, seed=4):
        assert accepted(case, "block") == pytest.approx(bound(case), abs=TOLERANCE)
        gaps.append(bound(case) - accepted(case, "token"))
    assert min(gaps) > -TOLERANCE
    assert max(gaps) > 1e-3


@pytest.mark.parametrize(("family", "name"), [("fixed", "membership"), ("fixed", "univer")])
def test_fixed_trees_leave_nothing_to_a_rule(family: str, name: str) -> None:
    for case in family_cases(family, 8, seed=4):
        assert accepted(case, name) == pytest.approx(bound(case), abs=TOLERANCE)


@pytest.mark.parametrize("name", ["rrs", "rrsw", "traversal", "spectr", "univer", "greedy", "mixed", "univer-mixed"])
def test_no_exact_method_is_above(name: str) -> None:
    for case in family_cases(univer.methods()[name].draft_law, 8, seed=5):
        if case.depth < 3:
            assert accepted(case, name) <= bound(case) + TOLERANCE


def test_one_node_by_hand() -> None:
    case = Case("swor", Plan("2x1", 4).shape("swor"), 4, "smooth", 0)
    assert accepted(case, "optimal") == pytest.approx(bound(case), abs=TOLERANCE)
    assert accepted(case, "rrsw") < bound(case) - 1e-4


def test_a_programme_that_is_too_large_is_refused() -> None:
    case = family_cases("swor", 2, seed=0)[1]
    with pytest.raises(BoundTooLargeError, match="variables"):
        accepted_length_bound(first_round(case, case.model()), case.model(), 2, most=10)
