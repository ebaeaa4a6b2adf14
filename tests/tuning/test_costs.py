"""Costs fitted to rounds whose costs are known, and the shapes that they are measured on."""

import itertools

import pytest

from univer.tuning.alternating import TreeRecord
from univer.tuning.costs import cost_shapes, fit_costs
from univer.tuning.planner import inner_widths
from univer.tuning.timing import Timings


def _level(width: int) -> float:
    return 2.0 + 0.25 * width


def _timings(law: str, max_nodes: int, noise: float = 0.0) -> Timings:
    """Rounds of all shapes: the draft 3 + levels, the target 10 + rows, and so on, disturbed now and then."""
    timings = Timings()
    for repeat, shape in itertools.product(range(5), cost_shapes(law, max_nodes)):
        widths = tuple(inner_widths(shape.parents))
        nodes = len(shape.parents) - 1
        seconds = {
            "prefill": 0.0,
            "draft": 3.0 + sum(map(_level, widths[1:])),
            "target": 10.0 + nodes + 1,
            "distributions": 0.1 * (nodes + 1),
            "verification": 0.5 * sum(widths),
            "cache": 0.25,
        }
        # A disturbance in two of five repeats leaves the medians alone.
        seconds = {phase: value + noise * (repeat < 2) for phase, value in seconds.items()}
        timings.rounds.append(TreeRecord(0, nodes, widths, (), seconds))
        timings.plain.append({"target": 11.0, "distributions": 0.1, "verification": 0.5, "cache": 0.25})
    timings.prefills.append((10, TreeRecord(0, 2, (1, 1), (), {"prefill": 20.0, "draft": 3.0 + _level(1) + 4.0})))
    timings.prefills.append((30, TreeRecord(0, 1, (1,), (), {"prefill": 60.0, "draft": 3.0 + 12.0})))
    return timings


@pytest.mark.parametrize("noise", [0.0, 7.0])
def test_costs_that_made_the_rounds_are_found(noise: float) -> None:
    costs = fit_costs(_timings("greedy", 40, noise))
    for nodes, widths in ((1, (1,)), (6, (1, 2)), (20, (1, 4, 4, 2)), (38, (1, 8, 6))):
        expected = 3 + sum(map(_level, widths[1:])) + 11 + nodes + 0.1 * (nodes + 1) + 0.5 * sum(widths) + 0.25
        assert costs.round_seconds(nodes, widths) == pytest.approx(expected)
    assert costs.plain == pytest.approx(11.85)
    prefills = [costs.prompt(10), costs.prompt(20), costs.draft_prompt(10), costs.draft_prompt(30)]
    assert prefills == pytest.approx([20, 40, 4, 12])


def test_a_larger_tree_is_never_cheaper() -> None:
    costs = fit_costs(_timings("greedy", 40))
    for nodes, width in itertools.product(range(1, 60), range(1, 20)):
        cost = costs.round_seconds(nodes, (1, width))
        assert costs.round_seconds(nodes + 1, (1, width)) >= cost
        assert costs.round_seconds(nodes, (1, width + 1)) >= cost
        assert costs.round_seconds(nodes, (1, width, 1)) >= cost


def test_nothing_drafted_costs_no_draft() -> None:
    costs = fit_costs(_timings("greedy", 10))
    assert costs.round_seconds(0, ()) == costs.plain
    assert costs.draft_seconds((1,)) == pytest.approx(3)


@pytest.mark.parametrize("law", ["greedy", "swor", "fixed", "chain", "mixed"])
@pytest.mark.parametrize("max_nodes", [1, 5, 40])
def test_shapes_reach_the_size_of_interest(law: str, max_nodes: int) -> None:
    shapes = cost_shapes(law, max_nodes)
    sizes = [len(shape.parents) - 1 for shape in shapes]
    assert len({shape.parents for shape in shapes}) == len(shapes)
    assert max(sizes) <= max(8, 1.25 * max_nodes)
    assert max(sizes) >= (1 if law == "chain" else max_nodes / 2)
    assert all(max(map(len, shape.children)) <= 8 for shape in shapes)


def test_nothing_timed_is_refused() -> None:
    with pytest.raises(ValueError, match="no round was timed"):
        fit_costs(Timings())
