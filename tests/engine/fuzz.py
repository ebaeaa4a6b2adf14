"""Random requests for the fuzz: what is drawn, how it is run, and how a failure is repeated."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from engine.families import FAMILIES
from univer import methods
from univer.drafting.growth.parse import parse_tree
from univer.engine.plan import slots_of

CASES = int(os.environ.get("UNIVER_FUZZ_CASES", "200"))
SEED = int(os.environ.get("UNIVER_FUZZ_SEED", "0"))

TREES = (
    *("2x2", "3x2", "2x3", "chain-1", "chain-4", "eagle"),
    *([-1, 0, 0, 1], [-1, 0, 0, 1, 1, 2], [[0], [1], [1, 0], [0, 0]], [-1]),
    *("grow:nodes=7,depth=3", "grow:nodes=12,depth=4", "eagle2:nodes=8,depth=3", "opt:nodes=6,depth=3"),
)
DRAFTS = ("near", "far", "itself", "first=1", "skip=1", "lookup", "automaton", "first=2+lookup", None)


def profile(share: float) -> settings:
    """Settings for a part of all cases: the same cases in every run of the same seed."""
    return settings(
        max_examples=max(1, round(CASES * share)),
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )


def reproducer(test: str) -> str:
    """The command that runs the same cases again."""
    return f"UNIVER_FUZZ_SEED={SEED} UNIVER_FUZZ_CASES={CASES} python -m pytest tests/engine/test_fuzz.py -k {test}"


@dataclass(frozen=True)
class Text:
    """One row of an engine.

    Attributes:
        prompt: token ids.
        options: of the request.
        joins: number of rounds before it joins.
        leaves: number of rounds after which it is cancelled, or None.
        ends: which of its new tokens, if any, is declared the end of the text.
    """

    prompt: list[int]
    options: dict[str, Any]
    joins: int
    leaves: int | None
    ends: int | None


@dataclass(frozen=True)
class Load:
    """A model and the texts that it works on."""

    family: str
    draft: str | None
    nodes: int | None
    texts: list[Text]


def fitting(name: str, trees: Sequence[Any]) -> list[Any]:
    """The trees that a method takes."""
    method, found = methods()[name], []
    for tree in trees:
        with suppress(ValueError):
            method.check(slots_of(parse_tree(tree).widest(method.draft_law)), method.order)
            found.append(tree)
    return found


METHODS = {name: fitting(name, TREES) for name in methods()}
# No draft of this fuzz has so few tokens that a programme per node is cheap, and guesses need fixed children.
SAMPLED_METHODS = [name for name in METHODS if not name.startswith("optimal")]

warped = st.fixed_dictionaries(
    {"temperature": st.sampled_from([0.3, 0.7, 1.0, 1.6])},
    optional={
        "top_k": st.integers(1, 6),
        "top_p": st.sampled_from([0.5, 0.8, 0.95]),
        "min_p": st.sampled_from([0.05, 0.3]),
    },
)


@st.composite
def texts(draw: Any, new_tokens: int) -> Text:
    """A greedy text, whatever the method and its tree."""
    options = {
        "method": draw(st.sampled_from(sorted(METHODS))),
        "tree": draw(st.sampled_from(TREES)),
        "temperature": 0,
        "max_new_tokens": draw(st.integers(1, new_tokens)),
        "draft_temperature": draw(st.sampled_from([None, 0.5, 2.0])),
    }
    return Text(
        draw(st.lists(st.integers(3, 60), min_size=1, max_size=24)),
        options,
        draw(st.integers(0, 4)),
        draw(st.one_of(st.none(), st.integers(1, 6))),
        draw(st.one_of(st.none(), st.integers(0, new_tokens - 1))),
    )


@st.composite
def loads(draw: Any, new_tokens: int) -> Load:
    """Texts that join and leave, all greedy."""
    return Load(
        draw(st.sampled_from(sorted(FAMILIES))),
        draw(st.sampled_from(DRAFTS)),
        draw(st.one_of(st.none(), st.none(), st.integers(1, 20))),
        draw(st.lists(texts(new_tokens), min_size=1, max_size=3)),
    )


@st.composite
def sampled_loads(draw: Any, new_tokens: int) -> Load:
    """Texts that join and leave, all sampled from a seed; their trees depend on nothing but themselves."""
    load = draw(loads(new_tokens))
    own = []
    for text in load.texts:
        name = draw(st.sampled_from(SAMPLED_METHODS))
        options = text.options | draw(warped)
        options |= {"method": name, "tree": draw(st.sampled_from(METHODS[name])), "seed": draw(st.integers(0, 99))}
        own.append(replace(text, options=options, ends=None))
    draft = draw(st.sampled_from(["near", "far", "itself", "first=1", "skip=1"]))
    return replace(load, nodes=None, draft=draft, texts=own)


@dataclass(frozen=True)
class Round:
    """One round on a model whose laws are tables.

    Attributes:
        seed: of the tables.
        vocabulary: V.
        zeros: share of tokens without probability.
        method: name of the method.
        order: sibling order.
        tree: which trees grow.
        sampling: settings of the target.
        draft_sampling: settings of the draft.
    """

    seed: int
    vocabulary: int
    zeros: float
    method: str
    order: str | None
    tree: Any
    sampling: dict[str, Any]
    draft_sampling: dict[str, Any]

    def laws(self, number: int) -> torch.Tensor:
        """A random table `[V, V]`; the last token is always followed by token 0."""
        generator = torch.Generator().manual_seed(2 * self.seed + number)
        size = self.vocabulary, self.vocabulary
        weights = torch.rand(size, generator=generator, dtype=torch.float64) ** 2 + 1e-3
        weights[torch.rand(size, generator=generator) < self.zeros] = 0
        weights[:, 0] += 0.05
        weights[-1, 1:] = 0
        return weights / weights.sum(-1, keepdim=True)


SMALL_TREES = (
    *("2x1", "3x1", "2x2", "chain-1", "chain-2", "chain-3"),
    *([-1, 0, 0, 1], [-1, 0, 0, 2], [-1, 0, 0, 0, 1, 3]),
    *("grow:nodes=4,depth=2", "grow:nodes=6,depth=2,threshold=0.05", "eagle2:nodes=4,depth=2", "opt:nodes=4,depth=2"),
)
SMALL = {name: fitting(name, SMALL_TREES) for name in methods()}


@st.composite
def rounds(draw: Any) -> Round:
    """A round whose trees can be listed."""
    name = draw(st.sampled_from(sorted(SMALL)))
    return Round(
        draw(st.integers(0, 10**6)),
        draw(st.integers(2, 3 if name.startswith("optimal") else 4)),
        draw(st.sampled_from([0.0, 0.3])),
        name,
        draw(st.sampled_from([None, None, "sampled-first", "descending"])),
        draw(st.sampled_from(SMALL[name])),
        draw(warped),
        draw(warped),
    )
