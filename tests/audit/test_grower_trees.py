"""Every tree of the package's policies, by its own loop."""

import numpy as np
import pytest
import torch

import univer
from univer.audit.grower_trees import grower_trees
from univer.audit.growth import grown_trees
from univer.audit.models import TableModel, make_model
from univer.audit.node_budgets import grower_round
from univer.audit.policies import DEPTH
from univer.audit.subject import subjects_of
from univer.audit.tree_policies import BUDGETED, POLICIES, policy_rows
from univer.drafting.growth.grow import Grow
from univer.drafting.growth.parse import parse_tree
from univer.tree import DRAFT_LAWS, DraftTree


def test_a_static_shape_has_the_trees_that_the_audit_lists_by_itself() -> None:
    """The same trees with the same chances as by the audit's own draws, which share nothing with the package."""
    from univer.audit.growth import Expand, Partial

    def policy(partial: Partial, model: TableModel) -> Expand | None:
        leaves = partial.leaves(DEPTH)
        return Expand(leaves[0], 1, 2) if leaves else None

    model = make_model("smooth", 4, DEPTH + 1, 3)
    ours = _table(grower_trees(parse_tree("3x2").start("mixed", greedy=False), model, DEPTH))
    # Of three children the default split of the law samples one; two are asked for here.
    shape = univer.drafting.shapes.parse_shape("3x2", "mixed", sampled=2)
    ours = _table(grower_trees(parse_tree(shape).start("mixed", greedy=False), model, DEPTH))
    theirs = _table(grown_trees(model, "mixed", policy))
    assert ours.keys() == theirs.keys()
    for key, chance in ours.items():
        assert chance == pytest.approx(theirs[key], rel=1e-9)


def _table(trees) -> dict[tuple[int, ...], float]:  # type: ignore[no-untyped-def]
    return {tuple(sorted(prefixes)): chance for chance, _, prefixes in trees}


@pytest.mark.parametrize(("text", "law", "vocabulary"), POLICIES)
def test_chances_add_up_and_budgets_bind(text: str, law: str, vocabulary: int) -> None:
    policy = parse_tree(text)
    model = make_model("smooth", vocabulary, policy.max_depth + 1, 1)
    trees = list(grower_trees(policy.start(law, greedy=False), model, policy.max_depth))
    assert sum(chance for chance, _, _ in trees) == pytest.approx(1, abs=1e-12)
    sizes = [len(tree) - 1 for _, tree, _ in trees]
    assert max(sizes) <= policy.max_nodes
    assert max(sizes) > policy.max_nodes // 2
    assert all(tree.law == law and tree.planned for _, tree, _ in trees)


def test_slots_of_one_branch_depend_on_tokens_sampled_in_another() -> None:
    """What the audit is there for: the same node has other children where its sibling's token was another."""
    model = make_model("smooth", 6, 3, 0)
    policy = Grow(max_nodes=4, max_depth=2, top_k=2, threshold=0.01, foresight=0)
    seen: dict[int, set[int]] = {}
    for _, tree, prefixes in grower_trees(policy.start("mixed", greedy=False), model, 2):
        for child, below in enumerate(tree.children):
            if tree.depths[child] == 1:
                seen.setdefault(prefixes[child], set()).add(len(below))
    assert max(len(counts) for counts in seen.values()) > 1


def test_every_policy_is_exact_under_every_method_that_takes_it() -> None:
    subjects = [subject for method in univer.methods().values() for subject in subjects_of(method)]
    rows = policy_rows(subjects, 0, True, lambda what, done, total: None)
    assert [bool(row.budgets) for row in rows] == [False] * len(POLICIES) + [True] * len(BUDGETED)
    assert max(row.error for row in rows) < 1e-12
    assert {row.draft_law for row in rows[: len(POLICIES)]} == {"greedy", "mixed", "swor", "chain", "fixed"}
    assert {row.draft_law for row in rows[len(POLICIES) :]} == set(DRAFT_LAWS)
    assert min(row.methods for row in rows) >= 4


@pytest.mark.parametrize("budgets", [(None, None), (2, 3), (3, 1)])
def test_two_rounds_of_a_grower_that_learns_are_exact(budgets: tuple[int | None, int | None]) -> None:
    """After every verdict of the first round the second is drafted by the grower that was told of it."""
    policy = Grow(max_nodes=3, max_depth=2, top_k=2, threshold=0.02, foresight=0, prior=0.05)
    vocabulary, length = 3, 6
    model = make_model("smooth", vocabulary, length, 0)
    law = np.zeros(vocabulary**length)
    sizes = set()

    def outcomes(tree: DraftTree, prefixes: list[int]) -> list[tuple[float, int, int]]:
        outcome = univer.outcome_law(tree, model.target[prefixes], "univer")
        return [
            (float(outcome[node, token]), node, prefixes[node] * vocabulary + 1 + token)
            for node in range(len(tree))
            for token in range(vocabulary)
            if outcome[node, token] > 0
        ]

    for chance, tree, prefixes in grower_trees(policy.start("greedy", greedy=False), model, 2, nodes=budgets[0]):
        for share, node, output in outcomes(tree, prefixes):
            grower = _told(policy, model, tree, node, budgets[0])
            for again, second, numbers in grower_trees(grower, model, 2, output, budgets[1]):
                sizes.add((node, len(second)))
                for last, _, text in outcomes(second, numbers):
                    _spread(model, chance * share * again * last, text, law, length)
    assert np.abs(law - model.output_distribution(length)).max() < 1e-12
    assert len({size for _, size in sizes}) > 1 or budgets[1] == 1


def _told(policy: Grow, model: TableModel, tree: DraftTree, node: int, nodes: int | None):  # type: ignore[no-untyped-def]
    """A grower that drafted this very tree and learned that it was kept down to `node`."""
    grower = policy.start("greedy", greedy=False)
    for _, drafted, _ in grower_trees(grower, model, 2, nodes=nodes):
        if torch.equal(drafted.tokens, tree.tokens) and drafted.parents == tree.parents:
            grower.settle(drafted, drafted.topology.path(node))
            return grower
    raise AssertionError("the tree was drafted before")


def _spread(model: TableModel, mass: float, text: int, law: np.ndarray, length: int) -> None:
    """Continue a text by the target to full length and add its mass."""
    if text >= model.first(length):
        law[text - model.first(length)] += mass
        return
    for token, chance in enumerate(model.target[text].tolist()):
        _spread(model, mass * chance, text * model.vocabulary + 1 + token, law, length)


def test_all_trees_of_a_policy_measure_as_grown_trees() -> None:
    policy = parse_tree("eagle2:nodes=4,depth=2,top_k=2")
    model = make_model("medley", 3, 3, 0)
    grown = grower_round(model, policy.start("fixed", greedy=False), 2)
    assert grown.measure(lambda forest, laws: univer.outcome_law(forest, laws, "membership")).error < 1e-12
