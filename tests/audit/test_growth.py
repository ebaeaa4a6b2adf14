"""Grown trees: lawful policies keep every method exact, others do not."""

import pytest
from torch import Tensor

import univer
from univer.audit.broken_growth import UNLAWFUL
from univer.audit.growth import grown_round
from univer.audit.models import make_model
from univer.audit.policies import DEPTH, LAWFUL
from univer.tree import Forest

ORDERS = ("drawn", "sampled-first", "descending")


@pytest.mark.parametrize("policy", list(LAWFUL))
@pytest.mark.parametrize("law", ["chain", "iid", "swor", "greedy", "mixed", "fixed"])
def test_lawful_growth_is_exact_for_every_method_of_the_law(law: str, policy: str) -> None:
    model = make_model("medley", 3, DEPTH + 1, 4)
    grown = grown_round(model, law, LAWFUL[policy](law), DEPTH)
    names = [name for name, method in univer.methods().items() if method.draft_law == law and "optimal" not in name]
    for name in names:
        for order in ORDERS if univer.methods()[name].coupling.uses_order else ORDERS[:1]:

            def outcome(forest: Forest, targets: Tensor, name: str = name, order: str = order) -> Tensor:
                return univer.outcome_law(forest, targets, name, order)

            assert grown.measure(outcome).error < 1e-12, (name, order)


@pytest.mark.parametrize("name", list(UNLAWFUL))
def test_unlawful_growth_is_not(name: str) -> None:
    method, law, policy = UNLAWFUL[name]
    distances = []
    for seed in range(6):
        model = make_model("smooth", 3, DEPTH + 1, seed)
        grown = grown_round(model, law, policy, DEPTH)
        distances.append(grown.measure(lambda forest, targets: univer.outcome_law(forest, targets, method)).distance)
    assert max(distances) > 1e-3


def test_a_policy_sees_no_token_before_it_is_drawn() -> None:
    model = make_model("smooth", 3, DEPTH + 1, 0)
    (drafted,) = grown_round(model, "swor", LAWFUL["best first"]("swor"), DEPTH).first
    assert sum(drafted.chances) == pytest.approx(1)
    with pytest.raises(ValueError, match="gain"):
        univer.outcome_law(drafted.forest, drafted.target_laws(model), "traversal", "gain")
