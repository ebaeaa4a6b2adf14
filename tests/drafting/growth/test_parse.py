"""Tree policies by name."""

import pytest

from univer import methods
from univer.drafting.growth import Static
from univer.drafting.growth.confidence import Eagle2, OptTree
from univer.drafting.growth.grow import Grow
from univer.drafting.growth.parse import parse_tree
from univer.drafting.shapes import parse_shape
from univer.engine.plan import TreePlan, slots_of


def test_text_forms() -> None:
    assert parse_tree("grow") == Grow()
    assert parse_tree("grow:nodes=48, depth=6,threshold=0.02") == Grow(max_nodes=48, max_depth=6, threshold=0.02)
    assert parse_tree("grow:mean=30") == Grow(mean_nodes=30)
    expected = Eagle2(max_nodes=62, max_depth=6, top_k=10, score_temperature=0.8)
    assert parse_tree("eagle2:nodes=62,depth=6,top_k=10,temperature=0.8") == expected
    assert parse_tree("opt:cost=0.2") == OptTree(cost=0.2)
    assert parse_tree("3x2") == Static(parse_shape("3x2", "mixed"))
    assert parse_tree(Grow(max_nodes=5)) == Grow(max_nodes=5)


@pytest.mark.parametrize("text", ["grow", "grow:nodes=48,mean=30.5", "eagle2:top_k=8,temperature=1.5", "opt:cost=0"])
def test_names_say_what_is_not_the_default(text: str) -> None:
    assert parse_tree(text).name == text
    assert parse_tree(parse_tree(text).name) == parse_tree(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grow:size=3", "'grow' has no parameter 'size=3'; it takes nodes, depth, threshold"),
        ("opt:cost", "'opt' has no parameter 'cost'; it takes"),
        ("eagle2:nodes=many", "nodes of the tree policy 'eagle2' must be a number, got 'many'"),
        ("eagle2:nodes=inf", "nodes of the tree policy 'eagle2' must be a number, got 'inf'"),
        ("eagle2:nodes=1.5", "needs a whole number from 1 to 4095 for nodes, got 1.5"),
        ("grow:depth=0", "needs a whole number from 1 to 64 for depth, got 0"),
        ("grow:threshold=0", "needs a number from 1e-06 to 1 for threshold, got 0"),
        ("grow:nodes=20,mean=30", "needs a number from 1 to 20 for mean, got 30"),
        ("grow:sampled=11", "needs a whole number from 1 to 10 for sampled, got 11"),
        ("grow:depth=3,depth=4", "'grow' is given depth twice"),
        ("opt:temperature=0", "needs a number from 0.05 to 20 for temperature, got 0"),
        ("shrink", "unknown tree 'shrink'"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_tree(text)


def test_every_method_gets_trees_that_it_takes_or_a_refusal_that_names_its_law() -> None:
    """The widest tree of a policy stands for all of them."""
    for name, method in methods().items():
        for text in ("grow", "eagle2", "opt"):
            policy = parse_tree(text)
            refusal = ""
            try:
                shape = policy.widest(method.draft_law)
                method.check(slots_of(shape), method.order)
            except ValueError as error:
                refusal = str(error)
            fits = method.draft_law != "iid" and (text == "grow" or method.rule.fits("fixed", 3, 0))
            assert (f"'{method.draft_law}'" in refusal) != fits, (name, text, refusal)


def test_plans_refuse_what_does_not_fit_before_any_work() -> None:
    class Drafting:
        fixed_only = False

    draft = Drafting()
    with pytest.raises(ValueError, match="'rrsw' needs a tree drawn by the sampling scheme 'swor'"):
        TreePlan("eagle2", draft, methods()["rrsw"], None, greedy=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'grow' does not support the sampling scheme 'iid'"):
        TreePlan("grow", draft, methods()["rrs"], None, greedy=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 10 children"):
        TreePlan("grow:top_k=11", draft, methods()["univer"], "gain", greedy=False)  # type: ignore[arg-type]
    plan = TreePlan("eagle2", draft, methods()["rrsw"], None, greedy=True)  # type: ignore[arg-type]
    assert plan.law == "fixed"
    plan = TreePlan("grow", draft, methods()["univer"], "gain", greedy=False)  # type: ignore[arg-type]
    assert (plan.law, plan.branching, plan.drafts) == ("greedy", True, True)
    chain = TreePlan("grow", draft, methods()["token"], None, greedy=False)  # type: ignore[arg-type]
    assert not chain.branching
