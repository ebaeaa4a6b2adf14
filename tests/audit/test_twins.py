"""Every broken twin is caught."""

import pytest

from univer.audit.twins import CAUGHT, Twin, twins


@pytest.mark.parametrize("twin", twins(), ids=lambda twin: twin.name)
def test_the_twin_is_caught(twin: Twin) -> None:
    assert twin.measure() > 1000 * CAUGHT


def test_each_part_of_the_audit_has_a_twin() -> None:
    checks = {"enumeration", "grid", "two rounds", "grown trees", "tree policies", "node budgets"}
    assert {twin.check for twin in twins()} == checks
