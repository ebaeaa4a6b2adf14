"""A rule from outside the package: a right one passes, a wrong one is caught."""

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

import univer
from univer.audit import audit_function, load_function

CASES = 2


def right(tree: univer.DraftTree, target_laws: Tensor) -> Tensor:
    return univer.outcome_law(tree, target_laws, "univer")


def softmaxed(tree: univer.DraftTree, target_laws: Tensor) -> Tensor:
    law = right(tree, target_laws)
    ends = law.sum(1, keepdim=True)
    return ends * torch.softmax(law / ends.clamp(min=1e-30), 1)


def sampler(tree: univer.DraftTree, target_laws: Tensor, uniforms: Tensor) -> tuple[list[int], int]:
    verdict = univer.verify(tree, target_laws, "traversal", uniforms=uniforms)
    return verdict.path, verdict.next_token


sampler.draft_law = "swor"  # type: ignore[attr-defined]


def naive_sampler(tree: univer.DraftTree, target_laws: Tensor, uniforms: Tensor) -> tuple[list[int], int]:
    """Accept with p, and draw from the target whatever was rejected."""
    node, path = 0, []
    while children := [
        child for child in tree.children[node] if uniforms[child] <= target_laws[node, tree.tokens[child]]
    ]:
        node = children[0]
        path.append(node)
    return path, int(torch.searchsorted(target_laws[node].cumsum(0), uniforms[-1]).clamp(max=target_laws.shape[1] - 1))


def test_a_right_outcome_law_passes() -> None:
    report = audit_function(right, "right", cases=4, most_calls=500)
    assert report.ok
    assert report.rows[0].cases + len(report.skipped) == 4
    assert report.rows[0].cases > 0
    assert report.rows[0].error64 is not None


def test_a_wrong_outcome_law_is_caught() -> None:
    report = audit_function(softmaxed, "softmaxed", cases=4, most_calls=500)
    assert not report.ok
    assert "of the output distribution" in report.faults[0]


def test_a_right_sampler_passes_on_its_own_draft_law() -> None:
    report = audit_function(sampler, "sampler", cases=CASES)
    assert report.ok
    assert report.rows[0].draft_law == "swor"
    assert report.rows[0].tests == CASES


def test_a_wrong_sampler_is_caught_by_counting_and_at_the_edges() -> None:
    faults = " ".join(audit_function(naive_sampler, "naive", "swor", cases=5).faults)
    assert "counted outputs" in faults
    assert "ends of [0, 1)" in faults


def test_nothing_audited_is_no_pass() -> None:
    assert "no case" in audit_function(right, "right", cases=1, most_calls=0).faults[0]


@pytest.mark.parametrize("output", [([1, 0], 0), ([99], 0), ([-1], 0), ([], 99), 3])
def test_a_sampler_that_gives_no_path_of_its_tree_is_at_fault(output: object) -> None:
    report = audit_function(lambda tree, laws, uniforms: output, "x", cases=1)
    assert len(report.faults) == 1
    assert "the sampler gave" in report.faults[0]


@pytest.mark.parametrize(
    ("value", "message"),
    [(float("nan"), "not finite"), (float("inf"), "not finite"), (-0.25, "negative"), (2.0, "sums to")],
)
def test_what_is_no_law_is_at_fault_even_in_one_entry_of_one_call(value: float, message: str) -> None:
    calls = []

    def flawed(tree: univer.DraftTree, target_laws: Tensor) -> Tensor:
        law = right(tree, target_laws)
        calls.append(tree)
        if len(calls) == 3:
            law[-1, -1] = value
        return law

    assert any(message in fault for fault in audit_function(flawed, "flawed", cases=3, most_calls=500).faults)


def test_a_law_with_a_gradient_is_taken() -> None:
    with_gradient = lambda tree, laws: right(tree, laws).requires_grad_()  # noqa: E731
    assert audit_function(with_gradient, "gradient", cases=2, most_calls=500).ok


def test_what_is_no_law_or_draft_law_is_named() -> None:
    with pytest.raises(ValueError, match="must be a tensor"):
        audit_function(lambda tree, laws: laws[0], "x", cases=1)
    with pytest.raises(ValueError, match="unknown sampling scheme"):
        audit_function(right, "x", "banana", cases=1)


def test_functions_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_rule.py").write_text("def outcome(tree, laws):\n    return laws\n\none = lambda tree: tree\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert load_function("my_rule:outcome")(None, 3) == 3
    for name, message in [
        ("my_rule", "package.module:function"),
        ("my_rule:none", "no attribute"),
        ("my_rule:one", "needs"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_function(name)
