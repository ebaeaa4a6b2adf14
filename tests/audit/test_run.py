"""The audit as a whole, on a few methods."""

import json
from dataclasses import replace

import pytest

import univer
from univer.audit import audit
from univer.audit.broken_rules import SoftmaxedResidual
from univer.audit.report import PolicyRow, Relation, Report, TwinRow
from univer.couplings import Lifted
from univer.rules import Coupling, Membership, Siblings


def test_a_few_methods_pass_and_the_report_is_plain_data() -> None:
    steps: list[str] = []
    names = ["token", "block", "greedy", "univer"]
    report = audit(names, cases=4, quick=True, progress=lambda what, done, total: steps.append(what))
    assert report.ok, report.faults
    assert {row.method for row in report.rows} == set(names)
    assert {(row.method, row.order) for row in report.rows} >= {("univer", "drawn"), ("univer", "gain")}
    assert {"enumeration", "verification", "tree policies"} == set(steps)
    assert {(row.policy.partition(":")[0], row.draft_law) for row in report.policies} >= {
        *(("grow", law) for law in ("greedy", "chain", "fixed")),
        ("eagle2", "fixed"),
        ("opt", "fixed"),
    }
    assert any(row.budgets for row in report.policies)
    assert max(row.error for row in report.policies) < 1e-12
    held = {relation.name for relation in report.relations}
    assert {"univer never below greedy", "block never below token", "block attains the bound: chains"} <= held
    assert json.loads(json.dumps(report.to_dict()))["rows"][0]["method"] == "token"
    assert any("more than 5000" in item.reason for item in report.skipped)


def test_the_same_seed_gives_the_same_report() -> None:
    one, other = (audit(["block"], cases=2, quick=True, seed=3).to_dict() for _ in range(2))
    assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_a_wrong_method_has_faults_and_one_that_says_so_has_none() -> None:
    wrong = replace(univer.methods()["univer"], name="wrong", rule=SoftmaxedResidual())
    report = audit([wrong], cases=3, quick=True)
    assert not report.ok
    assert "error of the output distribution of two rounds" in report.faults[0]
    lossy = audit([replace(wrong, exact=False)], cases=3, quick=True)
    assert lossy.ok
    assert not lossy.rows[0].exact
    assert lossy.rows[0].error64 is not None
    assert lossy.rows[0].error64 > 1e-3


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="unknown method"):
        audit(["nonsense"])
    with pytest.raises(ValueError, match="dtypes"):
        audit(["token"], dtypes=["bfloat16"])


def test_twins_and_relations_count_as_faults() -> None:
    report = Report(
        twins=[TwinRow("t", "grid", "x", 0.0, False)], relations=[Relation("a never below b", 3, -1.0, False)]
    )
    report.policies.append(PolicyRow("grow", "greedy", 5, 1, 1, 1e-3))
    report.policies.append(PolicyRow("2x2", "swor", 5, 1, 1, 1e-3, (3, 1, 2)))
    assert report.faults[0] == "tree policy grow (greedy): error of the output distribution over all its trees: 0.001"
    assert report.faults[1].startswith("tree policy 2x2 (swor, budgets 3, then 1 or 2): error of the")
    assert report.faults[2:] == ["broken twin not caught: t", "relation does not hold: a never below b"]
    assert not report.ok


class NoLaw(Membership):
    """Membership that spoils its answer at some nodes."""

    def __init__(self, spoil: float) -> None:
        self.spoil = spoil

    def couple(self, siblings: Siblings) -> Coupling:
        coupling = super().couple(siblings)
        children = coupling.children.clone()
        children[-1, -1] = self.spoil
        return replace(coupling, children=children)


@pytest.mark.parametrize("spoil", [float("nan"), float("inf")])
def test_a_rule_that_gives_no_law_somewhere_has_faults(spoil: float) -> None:
    wrong = univer.Method("no-law", NoLaw(spoil), Lifted(), "wrong on purpose", exact=False)
    report = audit([wrong, "membership"], cases=3, quick=True)
    assert any("outcome distribution" in fault for fault in report.rows[0].faults)
    assert not next(row for row in report.rows if row.method == "membership").faults


class Follow:
    """Membership without `expected_acceptance`."""

    draft_law = "fixed"
    fits = Membership.fits
    couple = Membership.couple
    residual = Membership.residual


def test_a_rule_without_expected_acceptance_is_audited_without_the_order_gain() -> None:
    report = audit([univer.Method("plain", Follow(), Lifted(), "an example")], cases=3, quick=True)
    assert report.ok, report.faults
    assert {row.order for row in report.rows} == {"drawn", "sampled-first", "descending"}
