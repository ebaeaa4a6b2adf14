"""All trees that a draft can draw, with their probabilities, as forests of equal topology.

The draft law is written here anew, from its definition and without `univer.drafting`; the tests hold the two against
each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from univer.audit.cases import Case
from univer.audit.models import Floats, Ints, TableModel
from univer.topology import FIXED, ROOT, SAMPLED, SLOT_NAMES, Topology
from univer.tree import DraftTree, Forest

MOST_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Drafted:
    """Drafted trees of one topology.

    Attributes:
        forest: the trees, one after the other.
        prefixes: prefix number of every node, `[B, N]`.
        chances: probability of each tree given where it starts, `[B]`.
        starts: prefix number of each root, `[B]`.
    """

    forest: Forest
    prefixes: Ints
    chances: Floats
    starts: Ints

    @cached_property
    def depths(self) -> Ints:
        """Depth of the nodes of one tree `[N]`."""
        return self.forest.topology.depths[: self.prefixes.shape[1]]

    def tree(self, number: int, model: TableModel) -> tuple[DraftTree, Tensor]:
        """One of the trees, checked, and its target laws `[N, V]`."""
        size = self.prefixes.shape[1]
        nodes = range(number * size, (number + 1) * size)
        topology = Topology(self.forest.topology.parents[:size], self.forest.topology.slots[:size])
        prefixes = torch.from_numpy(self.prefixes[number])
        excluded = {node - nodes[0]: tokens for node, tokens in self.forest.excluded.items() if node in nodes}
        tree = DraftTree(
            (prefixes - 1) % model.vocabulary,
            topology.parents.tolist(),
            [SLOT_NAMES[slot] for slot in topology.slots],
            model.draft[prefixes],
            self.forest.law,
            excluded,
        )
        return tree, model.target[prefixes]

    def target_laws(self, model: TableModel) -> Tensor:
        """`P` at every node, `[B N, V]`."""
        return model.target[torch.from_numpy(self.prefixes.reshape(-1))]


def drafted_trees(case: Case, model: TableModel, starts: Ints) -> list[Drafted]:
    """Every tree that can be drawn from each starting prefix.

    Args:
        case: shape, draft law and what is dropped.
        model: its model.
        starts: prefix numbers of the roots.

    Returns:
        The trees in groups of one topology, each group cut into parts that fit into memory.
    """
    prefixes, chances = _draw_all(case, model, starts)
    if case.drop:
        full = prefixes.copy()
        _drop(case, model, prefixes)
    else:
        full = prefixes
    return [
        drafted
        for rows, nodes in _by_topology(prefixes)
        for drafted in _forests(case, model, prefixes[rows], full[rows], chances[rows], nodes)
    ]


def count_trees(case: Case, most: int) -> int:
    """The largest number of trees that can be drawn from one prefix of the two rounds; counting ends beyond `most`."""
    if (full := _full_support_trees(case)) <= most:
        return full
    largest = 0
    for length in range(case.depth + 2):
        model = case.model(length=length + case.depth)
        for prefix in range(model.first(length), model.first(length + 1)):
            largest = max(largest, _trees_from(case, model, prefix, most))
            if largest > most:
                return largest
    return largest


def _full_support_trees(case: Case) -> int:
    """Number of trees if every token could be drawn everywhere; no prefix has more."""
    shape, ways = case.shape, [1] * len(case.shape.parents)
    for node in range(len(ways) - 1, -1, -1):
        for slot in range(shape.sampled[node]):
            taken = 0 if case.law == "iid" else shape.fixed[node] + slot
            ways[node] *= max(1, case.vocabulary - taken)
        if node:
            ways[shape.parents[node]] *= ways[node]
    return ways[0]


def _trees_from(case: Case, model: TableModel, start: int, most: int) -> int:
    shape, children = case.shape, case.shape.children
    ways: dict[tuple[int, int], int] = {}

    def count(node: int, prefix: int) -> int:
        if not children[node]:
            return 1
        if (node, prefix) not in ways:
            total = 0
            for row in _outcomes(model, np.array([prefix]), shape.fixed[node], shape.sampled[node], case.law)[0]:
                product = 1
                for child, token in zip(children[node], row.tolist(), strict=True):
                    product *= count(child, prefix * model.vocabulary + 1 + token) if token >= 0 else 1
                total += product
                if total > most:
                    break
            ways[node, prefix] = total
        return ways[node, prefix]

    return count(0, start)


def _draw_all(case: Case, model: TableModel, starts: Ints) -> tuple[Ints, Floats]:
    """Prefix numbers of all planned nodes (-1 where a slot was not created) and the chances, tree by tree."""
    shape = case.shape
    prefixes = np.full((len(starts), len(shape.parents)), -1, dtype=np.int64)
    prefixes[:, 0] = starts
    chances = np.ones(len(starts))
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
        tree = np.repeat(np.arange(len(prefixes)), counts)
        rank = np.arange(len(tree)) - np.repeat(np.cumsum(counts) - counts, counts)
        outcome = first[place][tree] + rank
        prefixes, chances = prefixes[tree], chances[tree] * share[outcome]
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


def _by_topology(prefixes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Rows that have the same nodes, and those nodes."""
    created, place = np.unique(prefixes >= 0, axis=0, return_inverse=True)
    for number, mask in enumerate(created):
        yield np.nonzero(place.reshape(-1) == number)[0], np.nonzero(mask)[0]


def _forests(
    case: Case, model: TableModel, prefixes: Ints, full: Ints, chances: Floats, nodes: Ints
) -> Iterator[Drafted]:
    """The trees of one topology, cut into parts."""
    shape = case.shape
    place = np.full(len(shape.parents), -1)
    place[nodes] = np.arange(len(nodes))
    ranks = {child: rank for children in shape.children for rank, child in enumerate(children)}
    slots = [ROOT if n == 0 else FIXED if ranks[n] < shape.fixed[shape.parents[n]] else SAMPLED for n in nodes.tolist()]
    parents = [-1 if node == 0 else int(place[shape.parents[node]]) for node in nodes.tolist()]
    topology = Topology(parents, slots)
    lost = [n for n in np.nonzero((full >= 0).any(0) & (place < 0))[0].tolist() if place[shape.parents[n]] >= 0]
    part = max(1, MOST_ENTRIES // (len(nodes) * model.vocabulary))
    for start in range(0, len(prefixes), part):
        rows = slice(start, start + part)
        kept, whole = prefixes[rows][:, nodes], full[rows]
        flat = torch.from_numpy(kept.reshape(-1))
        excluded: dict[int, list[int]] = {}
        for node in lost:
            if ranks[node] < shape.fixed[shape.parents[node]]:
                for tree, prefix in enumerate(whole[:, node].tolist()):
                    if prefix >= 0:
                        key = tree * len(nodes) + int(place[shape.parents[node]])
                        excluded.setdefault(key, []).append((prefix - 1) % model.vocabulary)
        forest = Forest(
            topology.repeat(len(kept)),
            (flat - 1) % model.vocabulary,
            model.draft[flat],
            case.law,
            excluded,
        )
        yield Drafted(forest, kept, chances[rows], kept[:, 0])
