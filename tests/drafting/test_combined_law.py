"""All trees that a draft with guesses beside it can draw, on small models: the law of the output is the target's."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from univer import outcome_law
from univer.audit.grower_trees import grower_trees
from univer.audit.models import TableModel, make_model
from univer.audit.rounds import Drafted, Rounds
from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import Draft, DraftRequest, DraftSession
from univer.drafting.combined import CombinedDraft
from univer.drafting.growth import Grower, Growth, TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.drafting.guesses import Guess, GuessSession, GuessSource
from univer.drafting.lookup import LookupSource
from univer.drafting.proposals import complete
from univer.drafting.shapes import parse_shape
from univer.tree import DraftTree, Forest

COMMITTED = [0, 1, 2, 0, 2, 1, 0, 1]
DEPTH = 2
V = 4


class Scripted(GuessSource, GuessSession):
    """Guesses that depend on the path and on nothing else, of all confidences, in no order of the draft's."""

    name = "scripted"

    def start(self, request: DraftRequest) -> "Scripted":
        return self

    def guesses(self, committed: Sequence[int], path: Sequence[int]) -> list[Guess]:
        rng = np.random.default_rng([7, *path])
        tokens = rng.permutation(V)[: rng.integers(V)]
        return sorted((Guess(int(token), float(rng.random())) for token in tokens), key=lambda g: -g.confidence)


class Listening(Draft, DraftSession):
    """A draft that notes by which growth it is asked to draw."""

    name = "listening"

    def start(self, request: DraftRequest) -> "Listening":
        return self

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree:
        self.growth = growth
        return DraftTree([committed[-1]], [-1], ["root"], None, growth.law)


class Guided:
    """The growers of a policy, as a draft with guesses beside it hands them to its model's session."""

    def __init__(self, grower: Grower, sources: Sequence[GuessSource]) -> None:
        self.grower = grower
        self.settle = grower.settle
        self.draft = Listening()
        request = DraftRequest(V, torch.device("cpu"), lambda rows, step: rows, torch.Generator(), True, 99)
        self.session = CombinedDraft(self.draft, sources).start(request)

    def begin(self, depth: int, nodes: int | None = None) -> Growth:
        complete(self.session.propose(COMMITTED, self.grower.begin(depth)))
        return self.draft.growth


def all_trees(model: TableModel, policy: TreePolicy, law: str, sources: Sequence[GuessSource]):
    """Every tree that can be drawn: its chance, the tree, and the prefix numbers of its nodes."""
    return list(grower_trees(Guided(policy.start(law, greedy=False), sources), model, DEPTH))


SOURCES = {
    "scripted": [Scripted()],
    "lookup": [LookupSource()],
    "all": [LookupSource(), AutomatonSource(), Scripted()],
}
METHODS = {"greedy": ("univer", "greedy", "membership"), "mixed": ("mixed", "univer-mixed", "membership")}
TREES = {
    "greedy": ("2x2", "3x2", "grow:nodes=8,threshold=0.02"),
    "mixed": (parse_shape("3x2", "mixed", 1), parse_shape("4x1", "mixed", 2), "grow:nodes=5,threshold=0.02"),
}


@pytest.mark.parametrize("sources", list(SOURCES))
@pytest.mark.parametrize("kind", ["smooth", "zeros", "used up"])
@pytest.mark.parametrize(("law", "number"), [(law, number) for law, trees in TREES.items() for number in range(3)])
def test_guesses_at_every_node_keep_the_law(law: str, number: int, kind: str, sources: str) -> None:
    model = make_model(kind, V, DEPTH + 1, seed=1)
    grown = Rounds(model, DEPTH, [Drafted.of(all_trees(model, parse_tree(TREES[law][number]), law, SOURCES[sources]))])
    for method in METHODS[law]:

        def outcome(forest: Forest, targets: Tensor, method: str = method) -> Tensor:
            return outcome_law(forest, targets, method)

        assert grown.measure(outcome).error < 1e-12, method


def test_guesses_without_mass_stand_beside_sampled_children() -> None:
    model = make_model("zeros", V, DEPTH + 1, seed=1)
    seen = 0
    for _, tree, _ in all_trees(model, parse_tree("3x2"), "greedy", [Scripted()]):
        for node, children in enumerate(tree.children):
            if "sampled" in (tree.slots[child] for child in children):
                fixed = [int(tree.tokens[child]) for child in children if tree.slots[child] == "fixed"]
                seen += bool((tree.draft_laws[node][fixed] == 0).any())
    assert seen > 0


@pytest.mark.parametrize("method", ["univer", "greedy"])
def test_merging_after_the_draw_instead_of_before_is_found_out(method: str) -> None:
    """A guess that comes out as the sampled child as well must not be left out: it would not have been drawn."""
    model = make_model("smooth", V, DEPTH + 1, seed=1)
    trees = []
    for token in range(V):
        guess = 2
        slots = ["root", "sampled"] if token == guess else ["root", "fixed", "sampled"]
        tokens = [0, *([] if token == guess else [guess]), token]
        tree = DraftTree(tokens, [-1] + [0] * (len(tokens) - 1), slots, {0: model.draft[0]}, "greedy")
        trees.append((float(model.draft[0, token]), tree, [0, *(1 + drawn for drawn in tokens[1:])]))
    grown = Rounds(model, DEPTH, [Drafted.of(trees)])
    assert grown.measure(lambda forest, targets: outcome_law(forest, targets, method)).error > 1e-3
