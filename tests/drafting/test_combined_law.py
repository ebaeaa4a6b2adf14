"""All trees that a draft with guesses beside it can draw, on small models: the law of the output is the target's."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from univer import outcome_law
from univer.audit.models import TableModel, make_model
from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import DraftRequest
from univer.drafting.builder import TreeBuilder
from univer.drafting.combined import CombinedDraft
from univer.drafting.growth.static import Static
from univer.drafting.guesses import Guess
from univer.drafting.lookup import LookupSource
from univer.drafting.shapes import Shape, parse_shape
from univer.drafting.slots import NodeSlots
from univer.tree import DraftTree, Forest

COMMITTED = [0, 1, 2, 0, 2, 1, 0, 1]
DEPTH = 2


class Scripted:
    """Guesses that depend on the path and on nothing else, of all confidences, in no order of the draft's."""

    name = "scripted"

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary

    def start(self, request: DraftRequest) -> "Scripted":
        return self

    def guesses(self, committed: Sequence[int], path: Sequence[int]) -> list[Guess]:
        rng = np.random.default_rng([7, *path])
        tokens = rng.permutation(self.vocabulary)[: rng.integers(self.vocabulary)]
        return sorted((Guess(int(token), float(rng.random())) for token in tokens), key=lambda g: -g.confidence)


@dataclass
class Drawn:
    """A tree that can be drawn: its chance and the prefix number of each node."""

    chance: float
    tree: DraftTree
    prefixes: list[int]


class Enumerating:
    """A draft whose rows are those of a table; instead of drawing a tree it finds all that its growth can bring.

    A broken one samples from the whole row and then leaves out the fixed children that came out.
    """

    name = "table"
    fixed_only = False
    features: tuple[int, ...] = ()
    models: Sequence[Any] = ()
    passes = 0

    def __init__(self, model: TableModel, broken: bool) -> None:
        self.model = model
        self.broken = broken
        self.found: list[Drawn] = []

    def start(self, request: DraftRequest) -> "Enumerating":
        return self

    def settle(self, path: Sequence[int], features: Tensor | None = None) -> None:
        pass

    def propose(self, committed: Sequence[int], growth: Any) -> DraftTree:
        builder = TreeBuilder(committed[-1], growth.law)
        self._grow(1.0, builder, growth, growth.frontier(builder, [0]), [0])
        return self.found[0].tree

    def _grow(self, chance: float, builder: TreeBuilder, growth: Any, level: list[int], prefixes: list[int]) -> None:
        if not level:
            tree = growth.finish(builder)
            self.found.append(Drawn(chance, tree, [prefixes[node] for node in builder.kept]))
            return
        rows = self.model.draft[[prefixes[node] for node in level]]
        decisions = growth.slots(builder, level, rows, [()] * len(level))
        for share, drawn in self._level(rows, decisions):
            # What was drawn must not reach another branch of the enumeration.
            grown, policy, places, new = deepcopy(builder), deepcopy(growth), list(prefixes), []
            for node, row, decision, tokens in zip(level, rows, decisions, drawn, strict=True):
                fixed = [token for token in decision.fixed if token not in tokens]
                slots = [(token, "fixed") for token in fixed] + [(token, "sampled") for token in tokens]
                new += grown.add(node, slots, row if tokens else None)
                places += [prefixes[node] * self.model.vocabulary + 1 + token for token, _ in slots]
            self._grow(chance * share, grown, policy, policy.frontier(grown, new), places)

    def _level(self, rows: Tensor, decisions: Sequence[NodeSlots]) -> Iterator[tuple[float, list[list[int]]]]:
        """Everything that can be sampled at the nodes of a level together."""
        if not decisions:
            yield 1.0, []
            return
        row, decision = rows[0].double().clone(), decisions[0]
        if not self.broken:
            row[list(decision.fixed)] = 0
        for share, tokens in _draws(row / row.sum() if row.sum() > 0 else row, decision.sampled):
            for more, others in self._level(rows[1:], decisions[1:]):
                yield share * more, [tokens, *others]


def _draws(left: Tensor, count: int) -> Iterator[tuple[float, list[int]]]:
    if count == 0 or float(left.sum()) == 0:
        yield 1.0, []
        return
    for token in left.nonzero()[:, 0].tolist():
        rest = left.clone()
        rest[token] = 0
        for share, more in _draws(rest / rest.sum() if rest.sum() > 0 else rest, count - 1):
            yield float(left[token]) * share, [token, *more]


def all_trees(model: TableModel, shape: Shape, law: str, sources: Sequence[Any], broken: bool = False):
    """Every tree of a combined draft."""
    draft = CombinedDraft(Enumerating(model, broken), sources)
    request = DraftRequest(model.vocabulary, torch.device("cpu"), lambda rows, step: rows, torch.Generator(), True, 99)
    session = draft.start(request)
    session.propose(COMMITTED, Static(shape).start(law, greedy=False).begin(DEPTH))
    return session.session.found


def error(model: TableModel, found: Sequence[Drawn], method: str) -> float:
    """Largest difference between the law of what a round puts out, continued by the target, and the target's."""
    forest = Forest.union([entry.tree for entry in found])
    prefixes = np.concatenate([entry.prefixes for entry in found])
    chances = np.repeat([entry.chance for entry in found], [len(entry.tree) for entry in found])
    laws = outcome_law(forest, model.target[torch.from_numpy(prefixes)], method).double().numpy() * chances[:, None]
    outputs = prefixes[:, None] * model.vocabulary + np.arange(1, model.vocabulary + 1)
    mass = np.zeros(model.first(DEPTH + 2))
    np.add.at(mass, outputs.reshape(-1), laws.reshape(-1))
    return float(np.abs(model.extended(mass, DEPTH + 1) - model.output_law(DEPTH + 1)).max())


SOURCES = {
    "scripted": lambda: [Scripted(4)],
    "lookup": lambda: [LookupSource()],
    "all": lambda: [LookupSource(), AutomatonSource(), Scripted(4)],
}
METHODS = {"greedy": ("univer", "greedy", "membership"), "mixed": ("mixed", "univer-mixed", "membership")}


@pytest.mark.parametrize("sources", list(SOURCES))
@pytest.mark.parametrize("kind", ["smooth", "zeros", "disjoint", "used up"])
@pytest.mark.parametrize(
    ("law", "shape"),
    [
        ("greedy", parse_shape("2x2")),
        ("greedy", parse_shape("3x2")),
        ("mixed", parse_shape("3x2", "mixed", 1)),
        ("mixed", parse_shape("4x1", "mixed")),
    ],
    ids=["greedy-2x2", "greedy-3x2", "mixed-3x2", "mixed-4x1"],
)
def test_guesses_at_every_node_keep_the_law(law: str, shape: Shape, kind: str, sources: str) -> None:
    model = make_model(kind, 4, DEPTH + 1, seed=1)
    found = all_trees(model, shape, law, SOURCES[sources]())
    assert sum(entry.chance for entry in found) == pytest.approx(1)
    for method in METHODS[law]:
        assert error(model, found, method) < 1e-12, method


def test_two_sampled_children_beside_guesses_keep_the_law() -> None:
    model = make_model("smooth", 3, DEPTH + 1, seed=2)
    found = all_trees(model, parse_shape("3x2", "mixed", 2), "mixed", [Scripted(3)])
    for method in METHODS["mixed"]:
        assert error(model, found, method) < 1e-12, method


def test_guesses_without_mass_stand_beside_sampled_children() -> None:
    model = make_model("zeros", 4, DEPTH + 1, seed=1)
    seen = 0
    for entry in all_trees(model, parse_shape("3x2"), "greedy", [Scripted(4)]):
        tree = entry.tree
        for node, children in enumerate(tree.children):
            kinds = {tree.slots[child] for child in children}
            guessed = [c for c in children if tree.slots[c] == "fixed" and node in tree.draft_laws]
            seen += kinds == {"fixed", "sampled"} and any(tree.draft_laws[node][tree.tokens[c]] == 0 for c in guessed)
    assert seen > 0


@pytest.mark.parametrize("method", ["univer", "greedy"])
def test_merging_after_the_draw_instead_of_before_is_found_out(method: str) -> None:
    model = make_model("smooth", 4, DEPTH + 1, seed=1)
    found = all_trees(model, parse_shape("2x2"), "greedy", [Scripted(4)], broken=True)
    assert error(model, found, method) > 1e-3
