"""The audit of a rule from outside the package: a function of a few lines connects the two.

The function is either an outcome distribution,

    def outcome(tree, target_laws):                  # univer.DraftTree, Tensor [N, V]
        return rows                                  # Tensor [N, V]: the round ends at node n and emits t next

or a sampler,

    def verify(tree, target_laws, uniforms):         # Tensor [N + 1] in [0, 1): one per node, one for the token
        return path, next_token                      # node ids from the root's child down, and a token id

An outcome distribution is compared exactly. A sampler is run on drawn trees with drawn uniforms, and its outputs are
counted; it is also run with uniforms at the ends of [0, 1), where it must not emit what the target never emits. The
sampling scheme of the trees is an argument, or the function's attribute `draft_law`, or `greedy`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from torch import Tensor

from univer.audit.cases import Case, family_cases
from univer.audit.checks import FAMILY_LEVEL, FLOAT32_ERROR, FLOAT64_ERROR, fit_p_value, worst
from univer.audit.enumeration import first_round, two_rounds
from univer.audit.grids import LARGEST
from univer.audit.models import Floats, Ints
from univer.audit.report import Report, Row, Skipped
from univer.audit.rounds import Outcome, nodes_of, tree_of
from univer.tree import DRAFT_LAWS, DraftTree, Forest

# A call per tree: at most so many trees in both rounds.
MOST_CALLS = 3_000
# Of a sampler, per case: calls with drawn uniforms, and calls with uniforms of 0 and the largest double below 1.
DRAWS, EDGE_ROWS = 1_000, 200

Function = Callable[..., Any]


class InvalidOutputError(ValueError):
    """A sampler returned something other than a path of its tree with a token."""


def load_function(name: str) -> Function:
    """Import the function that `package.module:function` names; modules of the working directory are found too.

    Args:
        name: as written on the command line.

    Returns:
        The function.

    Raises:
        ValueError: there is no such function, or it takes neither two nor three arguments.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"a function is named package.module:function, got {name!r}")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{name}: {error}") from error
    if not callable(function) or len(signature(function).parameters) not in (2, 3):
        raise ValueError(f"{name}: needs a function of (tree, target_laws) or (tree, target_laws, uniforms)")
    return function  # type: ignore[no-any-return]


def audit_function(
    function: Function,
    name: str,
    draft_law: str | None = None,
    cases: int = 48,
    seed: int = 0,
    most_calls: int = MOST_CALLS,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Audit a rule from outside the package.

    Args:
        function: an outcome distribution `(tree, target_laws) -> Tensor [N, V]`, or a sampler
            `(tree, target_laws, uniforms) -> (path, next_token)`; `target_laws` is `[N, V]` in float64 or float32,
            `uniforms` `[N + 1]` in float64.
        name: its name in the report.
        draft_law: sampling scheme of the trees; by default the function's attribute `draft_law`, else `greedy`.
        cases: how many cases.
        seed: of models, draws and uniforms.
        most_calls: a case with more trees in its two rounds is skipped for an outcome distribution, and listed.
        progress: called with what is being done, the steps done and all steps.

    Returns:
        A report with one row.

    Raises:
        ValueError: unknown sampling scheme, or an outcome distribution of the wrong shape.

    Example:
        >>> import univer
        >>> mine = lambda tree, target_laws: univer.outcome_law(tree, target_laws, "univer")
        >>> audit_function(mine, "mine", cases=3, most_calls=500).ok
        True
    """
    law = draft_law or getattr(function, "draft_law", "greedy")
    if law not in DRAFT_LAWS:
        raise ValueError(f"unknown sampling scheme {law!r}; known are {', '.join(DRAFT_LAWS)}")
    started = monotonic()
    report = Report(seed=seed)
    row = Row(name, "its own", True, law)
    check = _count if len(signature(function).parameters) == 3 else _enumerate
    for number, case in enumerate(family_cases(law, cases, seed)):
        try:
            trees = check(function, case, row, seed + number, most_calls)
        except InvalidOutputError as error:
            row.faults.append(str(error))
            break
        if trees:
            row.cases, row.trees = row.cases + 1, row.trees + trees
        else:
            report.skipped.append(Skipped(case.name, (name,), f"more than {most_calls} trees in two rounds"))
        if progress is not None:
            progress("cases", number + 1, cases)
    if row.error64 is not None and not row.error64 <= FLOAT64_ERROR:
        row.faults.append(f"error {row.error64:.1e} of the output distribution of two rounds in float64")
    if row.error32 is not None and not row.error32 <= FLOAT32_ERROR:
        row.faults.append(f"error {row.error32:.1e} of the output distribution of two rounds in float32")
    if row.edges:
        row.faults.append(f"{row.edges} outputs at the ends of [0, 1) that the target never emits")
    if row.p_value is not None and not row.p_value >= FAMILY_LEVEL / row.tests:
        row.faults.append(f"counted outputs do not follow the target: p = {row.p_value:.1e}")
    if row.cases == 0 and not row.faults:
        row.faults.append("no case was small enough to be audited")
    report.rows.append(row)
    report.seconds = monotonic() - started
    return report


def tree_by_tree(function: Function) -> Outcome:
    """An outcome distribution of forests from one of single trees."""

    def outcome(forest: Forest, targets: Tensor) -> Tensor:
        found = []
        for number in range(len(forest.topology.roots)):
            nodes = nodes_of(forest, number)
            rows = function(tree_of(forest, nodes), targets[nodes])
            if not isinstance(rows, Tensor) or rows.shape != targets[nodes].shape:
                raise ValueError(
                    f"the outcome distribution must be a tensor {list(targets[nodes].shape)}, "
                    f"got {getattr(rows, 'shape', type(rows))}"
                )
            found.append(rows.detach())
        return torch.cat(found)

    return outcome


def _enumerate(function: Function, case: Case, row: Row, seed: int, most_calls: int) -> int:
    """Two rounds in both precisions, exactly; returns the trees of the first round, 0 if the case is too large."""
    outcome, double = tree_by_tree(function), two_rounds(case)
    if sum(len(drafted.chances) for drafted in double.parts) > most_calls:
        return 0
    found = [rounds.measure(outcome) for rounds in (double, two_rounds(case, torch.float32))]
    row.error64 = worst([found[0].error, row.error64 or 0.0])
    row.error32 = worst([found[1].error, row.error32 or 0.0])
    for measured in found:
        if measured.fault and measured.fault not in row.faults:
            row.faults.append(measured.fault)
    return double.first_trees


def _count(function: Function, case: Case, row: Row, seed: int, most_calls: int) -> int:
    """Outputs of drawn trees and uniforms, continued by the target, against the target; then the ends of [0, 1)."""
    model, depth = case.model(), case.depth
    rng = np.random.default_rng(seed)
    parts = first_round(case, model)
    drawn = [drafted.tree(number, model) for drafted in parts for number in range(len(drafted.chances))]
    chances = np.concatenate([drafted.chances for drafted in parts])
    counts = np.zeros(model.vocabulary ** (depth + 1), dtype=np.int64)
    for place in rng.choice(len(drawn), DRAWS, p=chances / chances.sum()).tolist():
        output = _output(function, drawn[place], rng.random(len(drawn[place][0]) + 1))
        while output < model.first(depth + 1):
            output = output * model.vocabulary + 1 + int(rng.choice(model.vocabulary, p=model.target[output].numpy()))
        counts[output - model.first(depth + 1)] += 1
    possible = model.prefix_chances(depth + 1) > 0
    edges = 0
    for place in rng.choice(len(drawn), EDGE_ROWS).tolist():
        coins = rng.choice([0.0, LARGEST], size=len(drawn[place][0]) + 1)
        edges += not possible[_output(function, drawn[place], coins)]
    p_value = fit_p_value(counts, model.output_distribution(depth + 1))
    row.p_value = min(p_value, 1.0 if row.p_value is None else row.p_value)
    row.tests, row.edges = row.tests + 1, (row.edges or 0) + edges
    return len(drawn)


def _output(function: Function, drawn: tuple[DraftTree, Tensor, Ints], coins: Floats) -> int:
    """Prefix number of what a sampler puts out, checked to be a path of the tree."""
    tree, targets, prefixes = drawn
    output = function(tree, targets, torch.from_numpy(coins))
    try:
        path, token = [int(node) for node in output[0]], int(output[1])
    except (TypeError, ValueError, IndexError) as error:
        raise InvalidOutputError(f"the sampler gave {output!r}: not a list of node ids and a token id") from error
    if any(not 0 < node < len(tree) for node in path):
        raise InvalidOutputError(f"the sampler gave path {path}: its tree has the nodes 1 to {len(tree) - 1}")
    parents = [0, *path]
    if [tree.parents[node] for node in path] != parents[:-1] or not 0 <= token < targets.shape[1]:
        raise InvalidOutputError(
            f"the sampler gave path {path} and token {token}: not a path from the root and a token"
        )
    return int(prefixes[parents[-1]]) * targets.shape[1] + 1 + token
