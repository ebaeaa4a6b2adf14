"""One suite for the rules of all registered methods, built-in or new: a row in `univer.methods` is all it needs."""

import pytest
import torch

from single_nodes import problems
from univer import methods, rules
from univer.rules import Rule, Siblings

# Sampling scheme, numbers of fixed and of sampled children.
NODES = (
    *(("chain", 0, 1), ("iid", 0, 2), ("iid", 0, 3), ("swor", 0, 2), ("swor", 0, 3)),
    *(("fixed", 2, 0), ("greedy", 2, 1), ("mixed", 1, 2), ("mixed", 2, 1)),
)
EXACT_RULES = {type(method.rule): method.rule for method in methods().values() if method.exact}.values()
RULES: list[tuple[Rule, str, int, int]] = [(rule, *node) for rule in EXACT_RULES for node in NODES if rule.fits(*node)]
NAMES = [f"{type(rule).__name__}-{law}-{fixed}+{sampled}" for rule, law, fixed, sampled in RULES]
contract = pytest.mark.parametrize(("rule", "law", "fixed", "sampled"), RULES, ids=NAMES)
SCALES = (0.0, 0.3, 0.85, 1.0)


@contract
@pytest.mark.parametrize("scale", SCALES)
def test_lossless_at_every_scale(rule: Rule, law: str, fixed: int, sampled: int, scale: float) -> None:
    """Averaged over the draw, every token has probability `a P(x)` and `REJ` has `1 - a`."""
    for seed in range(8):
        batch, chances, p = problems(law, fixed, sampled, seed, scale)
        coupling = rule.couple(batch)
        output = torch.zeros_like(p).index_add(
            0, batch.tokens.flatten(), (chances[:, None] * coupling.children).flatten()
        )
        residual = rule.residual(batch)
        mass = residual.sum(-1, keepdim=True)
        law_of_residual = residual / torch.where(mass > 0, mass, torch.ones_like(mass))
        output += ((chances * coupling.residual)[:, None] * law_of_residual).sum(0)
        torch.testing.assert_close(output, scale * p, rtol=0, atol=1e-13)
        assert (chances * coupling.rejected).sum().item() == pytest.approx(1 - scale, abs=1e-13)


@contract
def test_every_answer_is_a_law(rule: Rule, law: str, fixed: int, sampled: int) -> None:
    for seed in range(8):
        for scale in SCALES:
            batch, _, _ = problems(law, fixed, sampled, seed, scale)
            coupling = rule.couple(batch)
            total = coupling.children.sum(-1) + coupling.residual + coupling.rejected
            torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-12)
            for part in (coupling.children, coupling.residual, coupling.rejected, rule.residual(batch)):
                assert (part >= 0).all()


@contract
def test_inputs_are_left_alone(rule: Rule, law: str, fixed: int, sampled: int) -> None:
    batch, _, _ = problems(law, fixed, sampled, 3, 0.6)
    copies = [batch.target.clone(), batch.scale.clone(), batch.tokens.clone()]
    draft = None if batch.draft is None else batch.draft.clone()
    rule.couple(batch)
    rule.residual(batch)
    if isinstance(rule, rules.base.ForesightRule):
        rule.expected_acceptance(batch)
    assert all(torch.equal(a, b) for a, b in zip(copies, (batch.target, batch.scale, batch.tokens), strict=True))
    assert draft is None or torch.equal(draft, batch.sampling_distribution())


@contract
def test_a_batch_is_its_rows(rule: Rule, law: str, fixed: int, sampled: int) -> None:
    batch, _, _ = problems(law, fixed, sampled, 4, 0.6)
    whole = rule.couple(batch)
    for row in range(0, len(batch.tokens), 5):
        part = slice(row, row + 1)
        one = Siblings(
            batch.target[part],
            None if batch.draft is None else batch.draft[part],
            batch.scale[part],
            batch.tokens[part],
            fixed,
            law,
        )
        torch.testing.assert_close(rule.couple(one).children, whole.children[part])
        torch.testing.assert_close(rule.residual(one), rule.residual(batch)[part])


@contract
def test_float32_stays_close_to_float64(rule: Rule, law: str, fixed: int, sampled: int) -> None:
    for seed in range(8):
        batch, _, _ = problems(law, fixed, sampled, seed, 0.7)
        low = Siblings(
            batch.target.float(),
            None if batch.draft is None else batch.draft.float(),
            batch.scale.float(),
            batch.tokens,
            fixed,
            law,
        )
        coupling = rule.couple(low)
        assert coupling.children.dtype == rule.residual(low).dtype == torch.float32
        torch.testing.assert_close(coupling.children.double(), rule.couple(batch).children, rtol=0, atol=2e-6)


EXPECTED = [row for row in RULES if isinstance(row[0], rules.base.ForesightRule)]


@pytest.mark.parametrize(("rule", "law", "fixed", "sampled"), EXPECTED)
def test_expected_acceptance_is_the_mean_over_the_draw(rule: Rule, law: str, fixed: int, sampled: int) -> None:
    assert isinstance(rule, rules.base.ForesightRule)
    approximate = sampled > 1 and law != "iid" and not isinstance(rule, rules.OptimalTransport)
    for seed in range(8):
        for scale in SCALES:
            batch, chances, _ = problems(law, fixed, sampled, seed, scale)
            mean = (chances * rule.couple(batch).children.sum(-1)).sum().item()
            foreseen = rule.expected_acceptance(batch)
            # Nothing drawn may enter: all draws of one node foresee the same.
            torch.testing.assert_close(foreseen, foreseen[:1].expand_as(foreseen))
            assert foreseen[0].item() == pytest.approx(mean, abs=0.08 if approximate else 1e-9)


@pytest.mark.parametrize("rule", EXACT_RULES, ids=lambda rule: type(rule).__name__)
def test_the_rule_has_the_interface_and_takes_trees_of_its_own_scheme(rule: Rule) -> None:
    assert isinstance(rule, Rule)
    assert any(rule.fits(*node) for node in NODES if node[0] == rule.draft_law)
