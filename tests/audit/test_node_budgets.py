"""Two rounds of a text whose trees are drafted under node budgets that change."""

from itertools import pairwise

import pytest

import univer
from univer.audit.models import make_model
from univer.audit.node_budgets import BUDGETS, budgeted_rounds
from univer.audit.tree_policies import BUDGETED
from univer.drafting.growth.parse import parse_tree
from univer.tree import Forest


def _sizes(forest: Forest) -> list[int]:
    """Nodes of every tree, the root left out."""
    roots = [*forest.topology.roots.tolist(), len(forest)]
    return [end - start - 1 for start, end in pairwise(roots)]


@pytest.mark.parametrize(("text", "law", "vocabulary"), BUDGETED)
def test_every_round_has_trees_of_its_own_budget(text: str, law: str, vocabulary: int) -> None:
    policy = parse_tree(text)
    most = 2 if law == "chain" else max(BUDGETS)
    assert policy.max_nodes >= most
    model = make_model("smooth", vocabulary, 2 * (policy.max_depth + 1), 2)
    rounds = budgeted_rounds(model, policy.start(law, greedy=False), policy.max_depth)
    (first,), (second,) = rounds.first, rounds.second or ()
    assert max(_sizes(first.forest)) == min(BUDGETS[0], most)
    largest: dict[int, int] = {}
    for start, size in zip(second.starts.tolist(), _sizes(second.forest), strict=True):
        budget = BUDGETS[1 + start % (len(BUDGETS) - 1)]
        largest[budget] = max(size, largest.get(budget, 0))
    assert largest == {budget: min(budget, most) for budget in BUDGETS[1:]}


def test_chances_of_the_second_round_add_up_after_every_text() -> None:
    model = make_model("smooth", 3, 6, 0)
    rounds = budgeted_rounds(model, parse_tree("2x2").start("swor", greedy=False), 2)
    (second,) = rounds.second or ()
    total: dict[int, float] = {}
    for start, chance in zip(second.starts.tolist(), second.chances.tolist(), strict=True):
        total[start] = total.get(start, 0.0) + chance
    assert sorted(total) == list(range(1, model.first(4)))
    assert list(total.values()) == pytest.approx([1.0] * len(total))


def test_an_error_of_the_second_round_alone_is_seen() -> None:
    """A rule that is wrong on trees of the larger budget only, which the first round never has."""
    model = make_model("smooth", 3, 6, 0)
    rounds = budgeted_rounds(model, parse_tree("2x2").start("greedy", greedy=False), 2, budgets=(1, 1, 4))

    def outcome(forest, targets):  # type: ignore[no-untyped-def]
        return univer.outcome_law(forest, targets if max(_sizes(forest)) == 1 else targets.flip(1), "univer")

    assert rounds.measure(lambda forest, targets: univer.outcome_law(forest, targets, "univer")).error < 1e-12
    assert rounds.measure(outcome).distance > 1e-3
