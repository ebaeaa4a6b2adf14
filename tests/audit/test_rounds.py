"""Enumeration of whole outputs: right rules pass and a rule that is a little wrong does not."""

import pytest
import torch
from torch import Tensor

import univer
from univer.audit.cases import FAMILIES, Case, Plan, family_cases, method_cases
from univer.audit.enumeration import two_rounds
from univer.tree import Forest


def outcome(method: str):  # type: ignore[no-untyped-def]
    return lambda forest, targets: univer.outcome_law(forest, targets, method)


@pytest.mark.parametrize(
    "name", ["token", "block", "traversal", "univer", "univer-mixed", "spectr-lifted", "membership"]
)
def test_two_rounds_follow_the_target(name: str) -> None:
    for case in method_cases(univer.methods()[name], 6, seed=7, large=False)[:-1][:8]:
        assert two_rounds(case).measure(outcome(name)).error < 1e-12, case.name
        assert two_rounds(case, torch.float32).measure(outcome(name)).error < 1e-5, case.name


def test_accepted_length_of_a_chain_of_one_is_the_overlap() -> None:
    case = Case("chain", Plan("chain-1", 5).shape("chain"), 5, "smooth", 0)
    rounds = two_rounds(case)
    overlap = torch.minimum(rounds.model.target[0], rounds.model.draft[0]).sum().item()
    assert rounds.measure(outcome("token")).accepted == pytest.approx(overlap, abs=1e-14)


def test_a_fault_that_only_the_second_round_has_is_seen() -> None:
    case = family_cases("chain", 1, seed=0)[0]
    rounds = two_rounds(case)
    first = rounds.first[0].forest

    def faulty(forest: Forest, targets: Tensor) -> Tensor:
        law = univer.outcome_law(forest, targets, "block")
        return law if forest is first else law.roll(1, 1)

    assert rounds.measure(faulty).error > 1e-3
    assert rounds.measure(outcome("block")).error < 1e-14


def test_an_output_that_the_target_never_gives_is_an_error() -> None:
    case = Case("chain", Plan("chain-1", 3).shape("chain"), 3, "point target", 0)
    rounds = two_rounds(case)

    def from_draft(forest: Forest, targets: Tensor) -> Tensor:
        rows = torch.zeros_like(targets)
        rows[forest.topology.roots] = torch.full((3,), 1 / 3, dtype=targets.dtype)
        return rows

    assert rounds.measure(from_draft).error > 0.3


def test_every_method_has_forty_cases_two_deep_with_four_tokens_and_one_three_deep() -> None:
    for method in univer.methods().values():
        cases = method_cases(method, 48, seed=0)
        assert len(cases) >= 40
        assert any(case.depth == 2 and case.vocabulary >= 4 for case in cases), method.name
        assert any(case.depth == 3 for case in cases), method.name
        assert {case.vocabulary for case in cases} <= set(range(2, 7))
    assert any(drop == "fixed" for _, drop, _ in FAMILIES.values())
