"""Both couplings against a plain recursion written from the definition, on one tree at a time."""

import pytest
import torch

from random_trees import random_tree
from univer import DraftTree, Method, outcome_law, verify
from univer.couplings import Lifted, Stepwise
from univer.rules import GreedyTransport, Membership


def closed_form(
    p: list[float], s: list[float], scale: float, fixed: list[int], sampled: int
) -> tuple[list[float], list[float], float]:
    """UniVer's `p(u)`, residual masses by token and `p(REJ)` at one node, by plain arithmetic."""
    excess = [max(scale * a - b, 0.0) for a, b in zip(p, s, strict=True)]
    total = (1 - scale) + sum(excess)
    kept = min(1.0, scale * p[sampled] / s[sampled])
    share = (1 - kept) / total if total else 0.0
    residual = [0.0 if x in fixed or x == sampled else mass * share for x, mass in enumerate(excess)]
    return [excess[x] * share for x in fixed] + [kept], residual, (1 - scale) * share


def reference(tree: DraftTree, target: torch.Tensor) -> torch.Tensor:
    """UniVer's outcome law by recursion over the post-order."""
    law = torch.zeros_like(target)
    children, tokens = tree.children, tree.tokens.tolist()

    def visit(node: int, scale: float, reached: float) -> float:
        """Distribute the mass that reaches `node`; returns what is left after it has failed."""
        if not children[node]:
            law[node] += reached * scale * target[node]
            return reached * (1 - scale)
        fixed = [tokens[child] for child in children[node][:-1]]
        s = tree.draft_laws[node].clone()
        s[fixed] = 0
        s = s / s.sum()
        kept, residual, rejected = closed_form(
            target[node].tolist(), s.tolist(), scale, fixed, tokens[children[node][-1]]
        )
        before = 0.0
        for child, chance in zip(children[node], kept, strict=True):
            reached = visit(child, min(1.0, chance / (1 - before)) if before < 1 - 1e-12 else 0.0, reached)
            before += chance
        mass = sum(residual)
        succeed = 1.0 if node == 0 else (mass / (mass + rejected) if mass + rejected > 0 else float(scale == 1))
        law[node] += (
            reached * succeed * (torch.tensor(residual, dtype=target.dtype) / mass if mass > 0 else target[node])
        )
        return reached * (1 - succeed)

    visit(0, 1.0, 1.0)
    return law


@pytest.mark.parametrize("spec", ["chain-4", "2x3", "3x2", "eagle"])
def test_univer_equals_the_plain_recursion(spec: str) -> None:
    for seed in range(10):
        tree, target = random_tree("greedy", spec, 12, seed)
        torch.testing.assert_close(outcome_law(tree, target, "univer"), reference(tree, target), rtol=0, atol=1e-9)


def test_membership_has_one_law_under_both_couplings() -> None:
    for law in ("fixed", "iid", "swor", "mixed"):
        tree, target = random_tree(law, "2x3", 12, seed=3)
        laws = [outcome_law(tree, target, Method("m", Membership(), coupling(), "")) for coupling in (Lifted, Stepwise)]
        torch.testing.assert_close(*laws)


def test_the_coupling_makes_no_difference_at_depth_one() -> None:
    for seed in range(5):
        tree, target = random_tree("greedy", "3x1", 12, seed)
        laws = [
            outcome_law(tree, target, Method("m", GreedyTransport(), coupling(), "")) for coupling in (Lifted, Stepwise)
        ]
        torch.testing.assert_close(*laws)


def test_a_nan_is_an_error_and_never_a_token() -> None:
    for place in range(12):
        tree, target = random_tree("greedy", "2x3", 12, seed=0)
        target[0, place] = float("nan")
        for method in ("univer", "greedy"):
            with pytest.raises(ValueError, match="NaN"):
                verify(tree, target, method, uniforms=[0.5] * (len(tree) + 1))
            with pytest.raises(ValueError, match="NaN"):
                outcome_law(tree, target, method)
