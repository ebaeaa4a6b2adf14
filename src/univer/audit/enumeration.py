"""All trees of a static shape that a draft can draw, with their probabilities.

The sampling schemes are written here anew, from their definitions and without `univer.drafting`; the tests compare the
two.
"""

from __future__ import annotations

import numpy as np
import torch

from univer.audit.cases import Case
from univer.audit.models import Floats, Ints, TableModel
from univer.audit.rounds import Drafted, Rounds
from univer.topology import FIXED, ROOT, SAMPLED, Topology
from univer.tree import Forest

MOST_ENTRIES = 1 << 22
MOST_TREES = 5_000


class TooManyTreesError(ValueError):
    """More trees can be drafted at one prefix than are enumerated."""


def two_rounds(case: Case, dtype: torch.dtype = torch.float64, most: int = MOST_TREES) -> Rounds:
    """Two rounds of a case; the second is drafted at every text that the target can have put out in the first.

    Args:
        case: the case.
        dtype: of the distributions, float32 or float64.
        most: trees at one prefix that are enumerated.

    Raises:
        TooManyTreesError: there are more.
    """
    model = case.model(dtype)
    first = first_round(case, model, most)
    starts = np.nonzero(model.prefix_chances(case.depth + 1))[0]
    return Rounds(model, case.depth, first, drafted_trees(case, model, starts[starts > 0], most))


def first_round(case: Case, model: TableModel, most: int = MOST_TREES) -> list[Drafted]:
    """Every tree that can be drawn at the empty prefix, as `drafted_trees`."""
    return drafted_trees(case, model, np.zeros(1, dtype=np.int64), most)


def drafted_trees(case: Case, model: TableModel, starts: Ints, most: int = MOST_TREES) -> list[Drafted]:
    """Every tree that can be drawn at each starting prefix.

    Args:
        case: shape, sampling scheme and what is dropped.
        model: its model.
        starts: prefix numbers of the roots.
        most: trees at one prefix that are enumerated.

    Returns:
        The trees, in parts that fit into memory.

    Raises:
        TooManyTreesError: there are more.
    """
    prefixes, chances = _draw_all(case, model, starts, most)
    full = prefixes.copy() if case.drop else prefixes
    if case.drop:
        _drop(case, model, prefixes)
    size = max(1, MOST_ENTRIES // (prefixes.shape[1] * model.vocabulary))
    parts = [slice(start, start + size) for start in range(0, len(prefixes), size)]
    return [_forest(case, model, prefixes[part], full[part], chances[part]) for part in parts]


def _draw_all(case: Case, model: TableModel, starts: Ints, most: int) -> tuple[Ints, Floats]:
    """Prefix numbers of all planned nodes (-1 where a slot was not created) and the chances, tree by tree."""
    shape = case.shape
    prefixes = np.full((len(starts), len(shape.parents)), -1, dtype=np.int64)
    prefixes[:, 0] = starts
    chances, origin = np.ones(len(starts)), np.arange(len(starts))
    for node, children in enumerate(shape.children):
        if not children:
            continue
        known, place = np.unique(prefixes[:, node], return_inverse=True)
        tokens, share, owner = _outcomes(model, known, shape.fixed[node], shape.sampled[node], case.law)
        if known[0] < 0:  # the node itself was not created: nothing below it, in one way
            keep = owner > 0
            tokens = np.concatenate([np.full_like(tokens[:1], -1), tokens[keep]])
            share, owner = np.append(1.0, share[keep]), np.append(0, owner[keep])
        first = np.searchsorted(owner, np.arange(len(known)))
        counts = np.bincount(owner, minlength=len(known))[place]
        if np.bincount(origin, counts).max() > most:
            raise TooManyTreesError(f"more than {most} drafted trees")
        tree = np.repeat(np.arange(len(prefixes)), counts)
        rank = np.arange(len(tree)) - np.repeat(np.cumsum(counts) - counts, counts)
        outcome = first[place][tree] + rank
        prefixes, chances, origin = prefixes[tree], chances[tree] * share[outcome], origin[tree]
        below = prefixes[:, node, None] * model.vocabulary + 1 + tokens[outcome]
        prefixes[:, children] = np.where(tokens[outcome] >= 0, below, -1)
    return prefixes, chances


def _outcomes(model: TableModel, prefixes: Ints, fixed: int, sampled: int, law: str) -> tuple[Ints, Floats, Ints]:
    """All that can be drawn at some prefixes.

    Returns:
        Tokens `[n, fixed + sampled]` (-1 where the slot is not created), their chance `[n]`, and the place of the
        prefix that each belongs to `[n]`, in rising order.
    """
    rows = model.draft[torch.from_numpy(prefixes)].double().numpy()
    scores = model.scores[torch.from_numpy(prefixes)].double().numpy()
    owner = np.arange(len(prefixes))
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :fixed]
    top = np.where(np.take_along_axis(scores, ranked, 1) > 0, ranked, -1)
    # A planned slot beyond the vocabulary is never created.
    tokens = np.concatenate([top, np.full((len(top), fixed - top.shape[1]), -1)], 1)
    chances = np.ones(len(prefixes))
    for _ in range(sampled):
        left = rows[owner]
        taken = tokens[:, :fixed] if law == "iid" else tokens
        for column in taken.T:
            left[np.nonzero(column >= 0)[0], column[column >= 0]] = 0.0
        total = left.sum(1)
        # Every token with mass is a branch; where no mass is left there is one branch, without the slot.
        tree, token = np.nonzero(np.concatenate([left, (total == 0)[:, None]], 1))
        drawn = token < model.vocabulary
        share = np.where(drawn, left[tree, np.where(drawn, token, 0)] / np.where(drawn, total[tree], 1.0), 1.0)
        tokens = np.concatenate([tokens[tree], np.where(drawn, token, -1)[:, None]], 1)
        chances, owner = chances[tree] * share, owner[tree]
    return tokens, chances, owner


def _drop(case: Case, model: TableModel, prefixes: Ints) -> None:
    """Take children out of drawn trees, in place: see `Case.drop`."""
    shape = case.shape
    for node, children in enumerate(shape.children):
        for rank, child in enumerate(children):
            if case.drop == "fixed":
                if rank == shape.fixed[node] - 1 and not shape.children[child] and len(children) > 1:
                    prefixes[:, child] = -1
            else:
                odd = (prefixes[:, child] - 1) % model.vocabulary % 2 == 1
                prefixes[odd | (prefixes[:, node] < 0), child] = -1


def _forest(case: Case, model: TableModel, prefixes: Ints, full: Ints, chances: Floats) -> Drafted:
    """Some of the trees as one forest; `full` has the nodes that were dropped as well."""
    shape = case.shape
    parent, ranks = np.array(shape.parents), {child: n for row in shape.children for n, child in enumerate(row)}
    fixed = [node > 0 and ranks[node] < shape.fixed[shape.parents[node]] for node in range(len(parent))]
    slots = np.where(parent < 0, ROOT, np.where(fixed, FIXED, SAMPLED))
    created = prefixes >= 0
    place = np.cumsum(created).reshape(created.shape) - 1
    parents = np.where(parent < 0, -1, place[:, parent])
    excluded: dict[int, list[int]] = {}
    for tree, node in np.argwhere(fixed & (full >= 0) & ~created & created[:, parent]).tolist():
        excluded.setdefault(int(place[tree, parent[node]]), []).append(int(full[tree, node] - 1) % model.vocabulary)
    topology = Topology(parents[created], np.broadcast_to(slots, created.shape)[created])
    numbers = torch.from_numpy(prefixes[created])
    forest = Forest(topology, (numbers - 1) % model.vocabulary, model.draft[numbers], case.law, excluded)
    return Drafted(forest, prefixes[created], chances)
