"""The best expected accepted length of any lossless rule, by linear programming."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from univer.audit.models import Floats, Ints, TableModel
from univer.audit.rounds import Drafted

MOST_VARIABLES = 200_000
# How far above the solver's bound a rule may seem to be.
TOLERANCE = 1e-7


class BoundTooLargeError(ValueError):
    """The programme of a bound has more variables than asked for."""


def accepted_length_bound(trees: Sequence[Drafted], model: TableModel, depth: int, most: int = MOST_VARIABLES) -> float:
    """The expected accepted length that no lossless rule can exceed on trees drafted like these.

    A rule is a distribution `f(tree, y)` over the outputs `y` (the prefix of a kept node and a token) of every drafted
    tree. It is lossless if what it puts out, continued by the target, follows the target. With `D(s)` the probability
    that the output is longer than `s` (0 at full length), for every prefix `s` and token `t`

        maximise    sum f(tree, y) (|y| - 1)
        subject to  sum_y f(tree, y) = chance of the tree
                    sum_tree f(tree, s t) + D(s t) = P(t | s) D(s)

    Only the set of prefixes in a tree matters to this programme, so trees that hold the same ones count as one.

    Args:
        trees: all trees drafted at the empty prefix.
        model: the model.
        depth: depth of the deepest node.
        most: number of variables from which on the programme is not solved.

    Raises:
        BoundTooLargeError: more variables than `most`.
        RuntimeError: the solver failed.
    """
    chances, tree, output = _outputs(trees, model)
    if len(tree) > most:
        raise BoundTooLargeError(f"{len(tree)} variables")
    inner, strings = model.first(depth + 1), model.first(depth + 2)
    size = len(tree) + inner
    children = np.arange(1, strings)
    longer = children[children < inner]
    continued = -model.target[:inner].double().numpy().reshape(-1)
    # Rows: one per tree, then one per string; columns: f, then D.
    rows = np.concatenate([tree, len(chances) + output - 1, len(chances) + longer - 1, len(chances) + children - 1])
    columns = np.concatenate(
        [np.tile(np.arange(len(tree)), 2), len(tree) + longer, len(tree) + (children - 1) // model.vocabulary]
    )
    entries = np.concatenate([np.ones(2 * len(tree) + len(longer)), continued])
    lengths = np.searchsorted([model.first(length) for length in range(depth + 2)], output, side="right") - 1
    solution = linprog(
        np.concatenate([1.0 - lengths, np.zeros(inner)]),
        A_eq=coo_array((entries, (rows, columns)), shape=(len(chances) + strings - 1, size)).tocsr(),
        b_eq=np.concatenate([chances, np.zeros(strings - 1)]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.fun is None:
        raise RuntimeError(f"the linear programme of the bound was not solved: {solution.message}")
    return -float(solution.fun)


def _outputs(trees: Sequence[Drafted], model: TableModel) -> tuple[Floats, Ints, Ints]:
    """Chance of every distinct set of prefixes, and set and number of every output that it allows."""
    topologies = [drafted.forest.topology for drafted in trees]
    widest = max(int(np.bincount(topology.trees).max()) for topology in topologies)
    tables = [np.full((len(drafted.chances), widest), -1) for drafted in trees]
    for table, topology, drafted in zip(tables, topologies, trees, strict=True):
        table[topology.trees, np.arange(len(topology)) - topology.roots[topology.trees]] = drafted.prefixes
    held = np.sort(np.concatenate(tables), axis=1)
    held[:, 1:][held[:, 1:] == held[:, :-1]] = -1
    sets, which = np.unique(np.sort(held, axis=1), axis=0, return_inverse=True)
    chances = np.zeros(len(sets))
    np.add.at(chances, which.reshape(-1), np.concatenate([drafted.chances for drafted in trees]))
    tree, place = np.nonzero(sets >= 0)
    outputs = sets[tree, place][:, None] * model.vocabulary + np.arange(1, model.vocabulary + 1)
    return chances, np.repeat(tree, model.vocabulary), outputs.reshape(-1)
