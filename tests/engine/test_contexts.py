"""Drafted trees below real text: what the target reads, and what it need not."""

import pytest
import torch

from tiny_models import tiny_llama
from univer.bench.measure import evaluate
from univer.bench.rows import growths_of, rows_for
from univer.drafting.independent import IndependentDraft
from univer.engine.contexts import ContextSettings, SampledText, drafted_trees

TEXT = SampledText((5, 9, 30, 8, 41, 7, 12), (4, 6))


@pytest.fixture(scope="module")
def models() -> tuple[torch.nn.Module, IndependentDraft]:
    return tiny_llama(0), IndependentDraft(tiny_llama(1), "other")


def drafted(models, trees, leaves=True, names=("rrsw", "univer", "membership")):
    rows = rows_for(trees, names)
    found = list(drafted_trees(*models, TEXT, growths_of(rows), ContextSettings(), seed=3, leaves=leaves))
    assert len(found) == len(TEXT.places) * 2 * len(growths_of(rows))
    return rows, found


def test_rows_are_the_targets_at_the_path_of_every_node(models):
    _, found = drafted(models, ["2x3", "3x2"])
    for context in found:
        tokens, parents = context.tree.tokens.tolist(), context.tree.parents
        for node in range(len(context.tree)):
            path, place = [], node
            while place > 0:
                path.append(tokens[place])
                place = parents[place]
            text = [*TEXT.tokens[: context.place], *reversed(path)]
            with torch.no_grad():
                expected = models[0](input_ids=torch.tensor([text])).logits[0, -1].softmax(-1)
            torch.testing.assert_close(context.target[node], expected, atol=1e-5, rtol=0)


def test_what_is_kept_does_not_depend_on_the_leaves(models):
    rows, whole = drafted(models, ["2x3"])
    _, inner = drafted(models, ["2x3"], leaves=False)
    for one, other in zip(whole, inner, strict=True):
        assert one.tree.tokens.tolist() == other.tree.tokens.tolist()
        leaves = torch.tensor([not children for children in other.tree.children])
        torch.testing.assert_close(one.target[~leaves], other.target[~leaves])
        assert (other.target[leaves, 0] == 1).all()
        for row in rows:
            if row.growth == one.growth:
                assert evaluate(one, row).tau == pytest.approx(evaluate(other, row).tau, abs=1e-5)


def test_in_float32_trees_do_not_depend_on_those_drafted_beside_them(models):
    _, together = drafted(models, ["2x3", "3x2"], leaves=False)
    for tree in ("2x3", "3x2"):
        _, alone = drafted(models, [tree], leaves=False)
        beside = [context for context in together if context.growth[0].name == tree]
        for one, other in zip(alone, beside, strict=True):
            assert one.place == other.place
            assert one.tree.tokens.tolist() == other.tree.tokens.tolist()
            torch.testing.assert_close(one.target, other.target)
