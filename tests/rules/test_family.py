"""The corners of the mixed family against their closed forms, and a scalar reference of the recursion."""

import pytest
import torch

from single_nodes import problems
from univer import rules
from univer.rules import Rule, Siblings

CORNERS: list[tuple[Rule, str, int, int]] = [
    (rules.MaximalCoupling(), "chain", 0, 1),
    (rules.RecursiveRejectionWithoutReplacement(), "swor", 0, 3),
    (rules.GreedyTransport(), "greedy", 2, 1),
    (rules.Membership(), "fixed", 3, 0),
]


@pytest.mark.parametrize(("rule", "law", "fixed", "sampled"), CORNERS)
def test_corners_equal_the_family(rule: Rule, law: str, fixed: int, sampled: int) -> None:
    family = rules.MixedRejection()
    for seed in range(12):
        for scale in (0.0, 0.4, 1.0):
            batch, _, _ = problems(law, fixed, sampled, seed, scale)
            one, other = rule.couple(batch), family.couple(batch)
            for name in ("children", "residual", "rejected"):
                torch.testing.assert_close(getattr(one, name), getattr(other, name), rtol=0, atol=1e-12)


def reference(batch: Siblings, row: int) -> list[float]:
    """`p(u)` of every child at one node, by plain arithmetic from the definition."""
    target = {token: batch.scale[row].item() * p for token, p in enumerate(batch.target[row].tolist())}
    target[-1] = 1 - batch.scale[row].item()
    draft = batch.sampling_distribution()[row].tolist()
    left, kept = 1.0, []
    for token in batch.sampled_tokens[row].tolist():
        accept = min(1.0, target[token] / draft[token])
        excess = {x: max(mass - (draft[x] if x >= 0 else 0.0), 0.0) for x, mass in target.items()}
        total = sum(excess.values())
        accept = 1.0 if total == 0 else accept
        kept.append(left * accept)
        left *= 1 - accept
        target = {x: mass / total for x, mass in excess.items()} if total else excess
        draft[token] = 0.0
        draft = [mass / (sum(draft) or 1.0) for mass in draft]
    return [left * target[token] for token in batch.fixed_tokens[row].tolist()] + kept


@pytest.mark.parametrize(("fixed", "sampled"), [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 1)])
def test_the_recursion_equals_plain_arithmetic(fixed: int, sampled: int) -> None:
    for seed in range(12):
        batch, _, _ = problems("mixed", fixed, sampled, seed, 0.7)
        children = rules.MixedRejection().couple(batch).children
        for row in range(len(batch.tokens)):
            assert children[row].tolist() == pytest.approx(reference(batch, row), abs=1e-12)


def test_the_optimum_is_not_below_any_rule_and_the_closed_form_reaches_it() -> None:
    optimum = rules.OptimalTransport()
    for seed in range(12):
        for rule, law, fixed, sampled in [
            *CORNERS,
            (rules.KSeq(), "iid", 0, 2),
            (rules.MixedRejection(), "mixed", 1, 2),
        ]:
            batch, chances, _ = problems(law, fixed, sampled, seed, 1.0)
            reached = (chances * rule.couple(batch).children.sum(-1)).sum().item()
            best = optimum.expected_acceptance(batch)[0].item()
            assert reached <= best + 1e-6  # the solver stops within 1e-7
            if sampled <= 1:
                assert reached == pytest.approx(best, abs=1e-6)


def test_a_large_vocabulary_is_refused_by_the_programme() -> None:
    batch = Siblings(
        torch.full((1, 300), 1 / 300),
        torch.full((1, 300), 1 / 300),
        torch.ones(1),
        torch.tensor([[0, 1, 2]]),
        0,
        "swor",
    )
    with pytest.raises(ValueError, match="smaller vocabulary"):
        rules.OptimalTransport().couple(batch)
