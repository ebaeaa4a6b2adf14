"""Trees that grow by a policy, enumerated: what may depend on what was drafted so far, and what may not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from univer.audit.flaws import law_flaw
from univer.audit.models import Floats, TableModel
from univer.audit.rounds import Measured, Outcome
from univer.tree import DraftTree, Forest

# Fixed and sampled children that a policy may give to a node, by draft law.
SLOTS: dict[str, tuple[tuple[int, int], ...]] = {
    "chain": ((0, 1),),
    "iid": ((0, 2), (0, 1)),
    "swor": ((0, 2), (0, 1)),
    "greedy": ((1, 1), (0, 1), (2, 1), (1, 0)),
    "mixed": ((1, 2), (1, 1), (0, 2), (1, 0)),
    "fixed": ((2, 0), (1, 0)),
}


@dataclass(frozen=True)
class Node:
    """A drafted token: its parent's place in the tree, how it was drawn, and its prefix number."""

    parent: int
    slot: str
    prefix: int
    depth: int


@dataclass(frozen=True)
class Partial:
    """A tree while it grows.

    Attributes:
        nodes: everything drafted, in the order in which it was drawn; node 0 is the root.
        expanded: nodes that have been given children, or whose draw came out empty.
        dropped: nodes that were taken out again.
        remembered: dropped nodes that stay excluded from their siblings' draft law.
    """

    nodes: tuple[Node, ...] = (Node(-1, "root", 0, 0),)
    expanded: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    remembered: tuple[int, ...] = field(default=())

    def children(self, node: int) -> list[int]:
        """Children of a node, in the order drawn, the dropped ones as well."""
        return [child for child, entry in enumerate(self.nodes) if entry.parent == node]

    def token(self, node: int, vocabulary: int) -> int:
        """Token of a node."""
        return (self.nodes[node].prefix - 1) % vocabulary

    def leaves(self, depth: int) -> list[int]:
        """Nodes above `depth` that could be expanded now."""
        gone = {*self.expanded, *self.dropped}
        return [node for node, entry in enumerate(self.nodes) if node not in gone and entry.depth < depth]


@dataclass(frozen=True)
class Expand:
    """Draw children at a node: so many fixed and so many sampled ones."""

    node: int
    fixed: int
    sampled: int


@dataclass(frozen=True)
class Drop:
    """Take a node and all below it out of the tree; `remember` whether its token stays excluded at its parent."""

    node: int
    remember: bool = True


Policy = Callable[[Partial, TableModel], Expand | Drop | None]


class Grown:
    """All trees that can grow under a policy, shared by the rules that are measured on them.

    Args:
        model: the model.
        grown: chance of every tree, given the text before it, the tree, and prefix numbers of its nodes, as
            `grown_trees` gives them.
        depth: depth that no node exceeds.
    """

    def __init__(self, model: TableModel, grown: Iterable[tuple[float, DraftTree, list[int]]], depth: int) -> None:
        self.model, self.depth = model, depth
        chances, trees, prefixes = zip(*grown, strict=True)
        sizes = [len(tree) for tree in trees]
        self.forest = Forest.union(trees)
        self.forests = [self.forest]
        self.prefixes = np.concatenate(prefixes)
        self.chances = np.repeat(np.array(chances), sizes)
        self.starts = np.repeat(self.prefixes[self.forest.topology.roots], sizes)

    def measure(self, outcome: Outcome) -> Measured:
        """Law of what one round puts out, continued by the target, against the target's.

        Args:
            outcome: gives the outcome law of a forest.
        """
        start = np.zeros(self.model.first(self.depth + 2))
        start[0] = 1.0
        mass, accepted, flaw = self.put_out(outcome, start)
        gap = np.abs(self.model.extended(mass, self.depth + 1) - self.model.output_law(self.depth + 1))
        return Measured(float(gap.max()), float(gap.sum() / 2), accepted, flaw)

    def put_out(self, outcome: Outcome, start: Floats) -> tuple[Floats, float, str]:
        """Probability of each output as a prefix number, the expected accepted length, and the first flaw.

        Args:
            outcome: gives the outcome law of a forest.
            start: probability that the round begins after each prefix.
        """
        laws = outcome(self.forest, self.model.target[torch.from_numpy(self.prefixes)]).double().numpy()
        chances = self.chances * start[self.starts]
        weighted = np.where(np.isfinite(laws), laws, np.nan) * chances[:, None]
        outputs = self.prefixes[:, None] * self.model.vocabulary + np.arange(1, self.model.vocabulary + 1)
        mass = np.zeros(len(start))
        mass += np.bincount(outputs.reshape(-1), weighted.reshape(-1), len(start))
        accepted = float((weighted.sum(1) * self.forest.topology.depths).sum())
        return mass, accepted, law_flaw(laws, self.forest.topology.roots)


def grown_trees(model: TableModel, law: str, policy: Policy) -> Iterator[tuple[float, DraftTree, list[int]]]:
    """Every tree that can grow under a policy: its chance, the tree, and the prefix number of each node.

    Args:
        model: the model.
        law: draft law.
        policy: what to do next, or None when the tree is done; it decides while the trees are enumerated, so it sees
            what was drawn and nothing else.
    """
    waiting: list[tuple[float, Partial]] = [(1.0, Partial())]
    while waiting:
        chance, partial = waiting.pop()
        action = policy(partial, model)
        if action is None:
            yield (chance, *_finish(model, law, partial))
        elif isinstance(action, Drop):
            remembered = (*partial.remembered, action.node) if action.remember else partial.remembered
            waiting.append((chance, replace(partial, dropped=(*partial.dropped, action.node), remembered=remembered)))
        else:
            waiting += [(chance * share, after) for share, after in _expansions(model, law, partial, action)]


def _expansions(model: TableModel, law: str, partial: Partial, action: Expand) -> Iterator[tuple[float, Partial]]:
    node, parent = partial.nodes[action.node], action.node
    row = model.draft[node.prefix].double().numpy().copy()
    taken = {partial.token(child, model.vocabulary) for child in partial.children(parent)}
    ranked = [int(token) for token in np.argsort(-row, kind="stable") if row[token] > 0 and token not in taken]
    fixed = ranked[: action.fixed]
    row[[*fixed, *taken]] = 0.0
    for share, drawn in _draws(row, action.sampled, law == "iid"):
        slots = [(token, "fixed") for token in fixed] + [(token, "sampled") for token in drawn]
        born = [Node(parent, slot, node.prefix * model.vocabulary + 1 + token, node.depth + 1) for token, slot in slots]
        yield share, replace(partial, nodes=(*partial.nodes, *born), expanded=(*partial.expanded, parent))


def _draws(left: Floats, count: int, replacement: bool) -> Iterator[tuple[float, list[int]]]:
    total = left.sum()
    if count == 0 or total == 0:
        yield 1.0, []
        return
    for token in np.nonzero(left)[0].tolist():
        rest = left.copy()
        if not replacement:
            rest[token] = 0.0
        for share, more in _draws(rest, count - 1, replacement):
            yield share * float(left[token] / total), [token, *more]


def _finish(model: TableModel, law: str, partial: Partial) -> tuple[DraftTree, list[int]]:
    """The tree as a verification rule is given it, and its prefix numbers."""
    alive: list[int] = []
    for number, node in enumerate(partial.nodes):
        if number not in partial.dropped and (node.parent < 0 or node.parent in alive):
            alive.append(number)
    # Fixed children stand before sampled ones, also where the policy added them later.
    alive.sort(key=lambda number: (partial.nodes[number].depth, partial.nodes[number].slot == "sampled"))
    place = {number: position for position, number in enumerate(alive)}
    nodes = [partial.nodes[number] for number in alive]
    excluded: dict[int, list[int]] = {}
    for number in partial.remembered:
        if partial.nodes[number].parent in place:
            token = partial.token(number, model.vocabulary)
            excluded.setdefault(place[partial.nodes[number].parent], []).append(token)
    prefixes = [node.prefix for node in nodes]
    tree = DraftTree(
        [0, *(partial.token(number, model.vocabulary) for number in alive[1:])],
        [place.get(node.parent, -1) for node in nodes],
        [node.slot for node in nodes],
        model.draft[prefixes],
        law,
        excluded,
        planned=False,
    )
    return tree, prefixes
