"""Trees drafted beside each other are those that each draft would have made by itself."""

import pytest
import torch

from engine.families import tiny
from univer.drafting.alternatives import propose_alternatives
from univer.drafting.base import DraftRequest
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.independent import IndependentDraft
from univer.drafting.shapes import parse_shape
from univer.engine import Sampling

TEXTS = ([3, 14, 15, 9, 26, 5], [3, 14, 15, 9, 26, 5, 8, 7])
GROWTHS = [("2x3", "swor"), ("2x3", "greedy"), ("3x2", "swor"), ("2x4", "fixed"), ("2x3", "iid")]


def drafted(repeated: bool):
    generator = torch.Generator()
    request = DraftRequest(61, torch.device("cpu"), Sampling().distributions, generator, True, 90, repeated=repeated)
    session = IndependentDraft(tiny("llama")).start(request)
    assert session.concurrent == repeated
    trees = []
    with torch.inference_mode():
        for seed, text in enumerate(TEXTS):
            growths = [StaticGrowth(parse_shape(tree, law)) for tree, law in GROWTHS]
            trees += propose_alternatives(session, text, growths, generator, seed)
    return trees, session.passes


@pytest.fixture(scope="module")
def both():
    return drafted(True), drafted(False)


def test_the_trees_are_the_same(both):
    (together, _), (alone, _) = both
    assert len(together) == len(alone) == len(TEXTS) * len(GROWTHS)
    for one, other in zip(together, alone, strict=True):
        assert one.law == other.law
        assert one.tokens.tolist() == other.tokens.tolist()
        assert one.parents == other.parents
        for node in range(len(one)):
            if "sampled" in [one.slots[child] for child in one.children[node]]:
                torch.testing.assert_close(one.draft_laws[node], other.draft_laws[node])


def test_a_level_of_all_trees_is_one_pass(both):
    (_, together), (_, alone) = both
    # The text, and all levels but the root and the leaves of the deepest tree.
    assert together == len(TEXTS) * (1 + 3)
    assert alone == len(TEXTS) * (1 + 2 + 2 + 1 + 3 + 2)
