"""Somebody else's rule under the audit: a function of a few lines stands between the two.

Either the outcome law,

    def outcome_law(tree, target_laws):              # univer.DraftTree, Tensor [N, V]
        return law                                   # Tensor [N, V]: the round ends at node n and emits t next

or a sampler,

    def verify(tree, target_laws, uniforms):         # Tensor [N + 1] in [0, 1): one per node, one for the token
        return path, next_token                      # node ids from the root's child down, and a token id

An outcome law is compared exactly. A sampler is run on drawn trees with drawn uniforms and counted, and on the edges of
[0, 1), where nothing that the target never says may come out. A draft law other than `greedy` is named by the
function's attribute `draft_law` or by the caller.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from torch import Tensor

from univer.audit.cases import family_cases
from univer.audit.decision import LARGEST
from univer.audit.flaws import FLOAT32_ERROR, FLOAT64_ERROR, worst
from univer.audit.models import Floats, Ints, TableModel
from univer.audit.report import Report, Row, Skipped
from univer.audit.rounds import Enumeration, Outcome
from univer.audit.statistics import FAMILY_LEVEL, fit_p_value
from univer.topology import SLOT_NAMES
from univer.tree import DRAFT_LAWS, DraftTree, Forest

# A call per tree: so many trees of both rounds at most.
MOST_CALLS = 3_000
# Of a sampler, per case: calls with drawn coins, and calls with coins of 0 and the largest double below 1.
DRAWS, EDGE_ROWS = 1_000, 200

Function = Callable[..., Any]


class NoOutputError(ValueError):
    """A sampler gave something that is no path of its tree with a token."""


def load_function(name: str) -> Function:
    """The function that `package.module:function` names; modules of the working directory are found too.

    Raises:
        ValueError: no such function, or one that takes neither two nor three arguments.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"--against takes package.module:function, got {name!r}")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--against {name}: {error}") from error
    if not callable(function) or len(signature(function).parameters) not in (2, 3):
        raise ValueError(f"--against {name}: needs a function of (tree, target_laws) or (tree, target_laws, uniforms)")
    return function  # type: ignore[no-any-return]


def audit_against(
    function: Function,
    name: str,
    draft_law: str | None = None,
    cases: int = 48,
    seed: int = 0,
    most_calls: int = MOST_CALLS,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Audit somebody else's rule.

    Args:
        function: the outcome law or the sampler, see the module's text.
        name: how to call it in the report.
        draft_law: how its trees are drawn; by default the function's attribute `draft_law`, else `greedy`.
        cases: how many cases.
        seed: of models, draws and uniforms.
        most_calls: an outcome law's case with more trees in its two rounds is skipped and listed.
        progress: told what is being done, as by `audit`.

    Returns:
        A report with one row.

    Example:
        >>> import univer
        >>> mine = lambda tree, laws: univer.outcome_law(tree, laws, "univer")
        >>> audit_against(mine, "mine", cases=3, most_calls=500).ok
        True
    """
    law = draft_law or getattr(function, "draft_law", "greedy")
    if law not in DRAFT_LAWS:
        raise ValueError(f"unknown draft law {law!r}; known are {', '.join(DRAFT_LAWS)}")
    started = monotonic()
    report = Report(seed=seed)
    row = Row(name, "its own", True, law)
    sampler = len(signature(function).parameters) == 3
    for number, case in enumerate(family_cases(law, cases, seed)):
        enumeration = Enumeration(case)
        if sampler:
            try:
                _count(function, enumeration, row, seed + number)
            except NoOutputError as error:
                row.faults.append(str(error))
                break
        elif enumeration.trees + sum(len(drafted.chances) for drafted in enumeration.second) > most_calls:
            report.skipped.append(Skipped(case.name, (name,), f"more than {most_calls} trees in two rounds"))
            continue
        else:
            _enumerate(tree_by_tree(function), enumeration, row)
        row.cases, row.trees = row.cases + 1, row.trees + enumeration.trees
        if progress is not None:
            progress("cases", number + 1, cases)
    if row.error64 is not None and not row.error64 <= FLOAT64_ERROR:
        row.faults.append(f"law error {row.error64:.1e} over two rounds in float64")
    if row.error32 is not None and not row.error32 <= FLOAT32_ERROR:
        row.faults.append(f"law error {row.error32:.1e} over two rounds in float32")
    if row.edges:
        row.faults.append(f"{row.edges} verdicts at the edges of [0, 1) that the target never gives")
    if row.p_value is not None and not row.p_value >= FAMILY_LEVEL / row.tests:
        row.faults.append(f"counted outputs do not follow the target, p = {row.p_value:.1e}")
    if row.cases == 0 and not row.faults:
        row.faults.append("no case was small enough to be audited")
    report.rows.append(row)
    report.seconds = monotonic() - started
    return report


def tree_by_tree(function: Function) -> Outcome:
    """An outcome function of forests from one of single trees."""

    def outcome(forest: Forest, targets: Tensor) -> Tensor:
        laws = []
        for tree, rows in _trees(forest, targets):
            law = function(tree, rows)
            if not isinstance(law, Tensor) or law.shape != rows.shape:
                raise ValueError(
                    f"the outcome law must be a tensor {list(rows.shape)}, got {getattr(law, 'shape', type(law))}"
                )
            laws.append(law.detach())
        return torch.cat(laws)

    return outcome


def _trees(forest: Forest, targets: Tensor) -> Iterator[tuple[DraftTree, Tensor]]:
    """The trees of a forest of equal topologies, each with its target laws."""
    roots = [*forest.topology.roots.tolist(), len(forest)]
    size = roots[1]
    parents, slots = (
        forest.topology.parents[:size].tolist(),
        [SLOT_NAMES[slot] for slot in forest.topology.slots[:size]],
    )
    rows = forest.draft_laws
    assert isinstance(rows, Tensor)
    for start in roots[:-1]:
        nodes = slice(start, start + size)
        yield DraftTree(forest.tokens[nodes], parents, slots, rows[nodes], forest.law), targets[nodes]


def _enumerate(outcome: Outcome, enumeration: Enumeration, row: Row) -> None:
    double = enumeration.measure(outcome)
    single = Enumeration(enumeration.case, torch.float32).measure(outcome)
    row.error64 = worst([double.error, row.error64 or 0.0])
    row.error32 = worst([single.error, row.error32 or 0.0])
    row.faults += [flaw for flaw in dict.fromkeys((double.flaw, single.flaw)) if flaw and flaw not in row.faults]


def _count(function: Function, enumeration: Enumeration, row: Row, seed: int) -> None:
    """Outputs of drawn trees and coins, continued by the target, against the target; then the edges."""
    model, depth = enumeration.model, enumeration.case.depth
    rng = np.random.default_rng(seed)
    drawn = [
        (drafted.prefixes[number], *drafted.tree(number, model))
        for drafted in enumeration.first
        for number in range(len(drafted.chances))
    ]
    chances = np.concatenate([drafted.chances for drafted in enumeration.first])
    counts = np.zeros(model.vocabulary ** (depth + 1), dtype=np.int64)
    edges = 0
    for place in rng.choice(len(drawn), DRAWS, p=chances / chances.sum()):
        prefixes, tree, targets = drawn[place]
        output = _call(function, prefixes, tree, targets, rng.random(len(tree) + 1))
        while output < model.first(depth + 1):
            output = output * model.vocabulary + 1 + int(rng.choice(model.vocabulary, p=model.target[output].numpy()))
        counts[output - model.first(depth + 1)] += 1
    for place in rng.choice(len(drawn), EDGE_ROWS):
        prefixes, tree, targets = drawn[place]
        coins = rng.choice([0.0, LARGEST], size=len(tree) + 1)
        edges += _chance(_call(function, prefixes, tree, targets, coins), model) == 0
    row.p_value = min(fit_p_value(counts, model.output_law(depth + 1)), 1.0 if row.p_value is None else row.p_value)
    row.tests, row.edges = row.tests + 1, (row.edges or 0) + edges


def _call(function: Function, prefixes: Ints, tree: DraftTree, targets: Tensor, coins: Floats) -> int:
    """Prefix number of what a sampler puts out, checked to be a path of the tree."""
    output = function(tree, targets, torch.from_numpy(coins))
    try:
        path, token = [int(node) for node in output[0]], int(output[1])
    except (TypeError, ValueError, IndexError) as error:
        raise NoOutputError(f"the sampler gave {output!r}: not a list of node ids and a token id") from error
    if any(not 0 < node < len(tree) for node in path):
        raise NoOutputError(f"the sampler gave path {path}: not a path, its tree has the nodes 1 to {len(tree) - 1}")
    parents = [0, *path]
    if [tree.parents[node] for node in path] != parents[:-1] or not 0 <= token < targets.shape[1]:
        raise NoOutputError(f"the sampler gave path {path} and token {token}: not a path from the root and a token")
    return int(prefixes[parents[-1]]) * targets.shape[1] + 1 + token


def _chance(output: int, model: TableModel) -> float:
    """Probability that the target's text starts with this prefix."""
    chance = 1.0
    while output > 0:
        output, token = divmod(output - 1, model.vocabulary)
        chance *= float(model.target[output, token])
    return chance
