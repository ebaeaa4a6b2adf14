"""Differential fuzz: greedy texts beside plain decoding, sampled ones beside themselves alone, laws by enumeration.

`UNIVER_FUZZ_CASES` sets how many cases are run (200), `UNIVER_FUZZ_SEED` which ones (0). A failure prints the smallest
case that hypothesis finds and the command that repeats it.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import torch
from hypothesis import assume, given, note, seed

from engine.fakes import ScriptedDraft, TableModel
from engine.families import near_copy, tiny
from engine.fuzz import SEED, Load, Round, loads, profile, reproducer, rounds, sampled_loads
from univer import methods, outcome_law
from univer.audit import models
from univer.audit.grower_trees import grower_trees
from univer.doctor.identity import decode_plainly
from univer.drafting.growth.parse import parse_tree
from univer.engine import Engine, Sampling, generate

NEW = 9
MOST_TREES = 80
TOLERANCE = 1e-5


@cache
def plain_text(family, prompt):
    """New tokens of plain decoding, one pass each, with the model's own cache and masks."""
    return decode_plainly(tiny(family), prompt, NEW)[0]


def draft_of(load):
    drafts = {"near": near_copy(load.family, 0.2), "far": near_copy(load.family, 1.0), "itself": tiny(load.family)}
    return drafts.get(load.draft, load.draft)


def end_of(load, text):
    """The token that ends a text: one that plain decoding comes to."""
    return None if text.ends is None else plain_text(load.family, tuple(text.prompt))[text.ends]


def run(load: Load):
    """Let the texts join and leave; returns their rows."""
    engine = Engine(tiny(load.family), draft_of(load), nodes=load.nodes)
    rows = {}
    for step in range(100):
        for number, text in enumerate(load.texts):
            if text.joins == step:
                rows[number] = engine.add(text.prompt, eos_token_id=end_of(load, text), **text.options)
            if text.leaves is not None and text.joins + text.leaves == step:
                engine.cancel(rows[number])
        if not engine.busy and len(rows) == len(load.texts):
            return [rows[number] for number in range(len(rows))]
        engine.step()
    raise AssertionError("the engine does not end")


def assert_begins(row, text, expected):
    """The row's text is as expected, or the beginning of it where the row left early."""
    assert row.error is None
    new = row.committed[len(text.prompt) :]
    if row.stats.stopped_by == "cancelled":
        assert new == expected[: len(new)]
    else:
        assert new == expected


@seed(SEED)
@profile(0.55)
@given(loads(NEW))
def test_fault_22_greedy_texts_are_those_of_plain_decoding(load: Load):
    note(reproducer("greedy_texts"))
    for row, text in zip(run(load), load.texts, strict=True):
        expected = plain_text(load.family, tuple(text.prompt))[: text.options["max_new_tokens"]]
        end = end_of(load, text)
        assert_begins(row, text, expected[: expected.index(end) + 1] if end in expected else expected)


@seed(SEED)
@profile(0.15)
@given(sampled_loads(NEW))
def test_fault_29_sampled_texts_are_those_of_the_row_alone(load: Load):
    note(reproducer("sampled_texts"))
    for row, text in zip(run(load), load.texts, strict=True):
        alone = generate(tiny(load.family), draft_of(load), [text.prompt], eos_token_id=None, **text.options)
        assert_begins(row, text, alone.texts[0][len(text.prompt) :])


class Recording:
    """A coupling that keeps the target laws that a round is decided by."""

    def __init__(self, coupling):
        self.coupling = coupling

    def __getattr__(self, name):
        return getattr(self.coupling, name)

    def end_nodes(self, forest, target_laws, rule, order, uniforms):
        self.laws = target_laws
        return self.coupling.end_nodes(forest, target_laws, rule, order, uniforms)


class Proposing(ScriptedDraft):
    """Proposes one given tree."""

    fixed_only = False

    def __init__(self, tree):
        super().__init__([])
        self.tree = tree

    def propose(self, committed, growth):
        return self.tree


def prefix_tables(case: Round, sampling, draft_sampling, length):
    """The model as tables over prefixes that follow token 0."""
    size = case.vocabulary
    target = sampling.distributions(case.laws(0).log().float())
    draft = draft_sampling.distributions(case.laws(1).log().float())
    last = (np.arange(models.first_prefix(size, length)) - 1) % size
    last[0] = 0
    rows = torch.from_numpy(last)
    return models.TableModel(size, target[rows], draft[rows], draft[rows])


@seed(SEED)
@profile(0.3)
@given(rounds())
def test_the_law_of_a_round_of_the_engine_is_the_target_s(case: Round):
    note(reproducer("law_of_a_round"))
    method, policy = methods()[case.method], parse_tree(case.tree)
    sampling, draft_sampling = Sampling(**case.sampling), Sampling(**case.draft_sampling)
    depth = policy.max_depth
    model = prefix_tables(case, sampling, draft_sampling, depth + 2)
    trees = []
    for entry in grower_trees(policy.start(method.draft_law, greedy=False), model, depth):
        trees.append(entry)
        assume(len(trees) <= MOST_TREES)
    target = TableModel(case.laws(0))
    mass = np.zeros(model.first(depth + 2))
    for chance, tree, prefixes in trees:
        recording = Recording(method.coupling)
        engine = Engine(target, Proposing(tree))
        # The last token is followed by token 0, which is the root of every tree.
        row = engine.add(
            [case.vocabulary - 1],
            method=replace(method, coupling=recording),
            order=case.order,
            tree=case.tree,
            max_new_tokens=depth + 3,
            seed=case.seed,
            eos_token_id=None,
            **case.sampling,
        )
        engine.step()
        engine.step()
        assert row.error is None, row.error
        assert row.committed[1] == 0
        law = outcome_law(tree, recording.laws, method, case.order)
        outputs = np.array(prefixes)[:, None] * case.vocabulary + 1 + np.arange(case.vocabulary)
        np.add.at(mass, outputs, chance * law.double().numpy())
    assert abs(mass.sum() - 1) < TOLERANCE
    assert np.abs(model.extended(mass, depth + 1) - model.output_distribution(depth + 1)).max() < TOLERANCE
