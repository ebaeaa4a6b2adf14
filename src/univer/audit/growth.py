"""Trees that grow by a policy, enumerated: what may depend on what was drafted so far, and what may not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from univer.audit.models import Floats, TableModel
from univer.audit.rounds import Drafted, Rounds
from univer.tree import DraftTree

# Fixed and sampled children that a policy may give to a node, by sampling scheme.
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
        remembered: dropped nodes whose tokens stay excluded from the sampling distribution of their siblings.
    """

    nodes: tuple[Node, ...] = (Node(-1, "root", 0, 0),)
    expanded: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    remembered: tuple[int, ...] = ()

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


def grown_round(model: TableModel, law: str, policy: Policy, depth: int) -> Rounds:
    """One round with every tree that can grow under a policy.

    Args:
        model: the model.
        law: sampling scheme.
        policy: see `grown_trees`.
        depth: depth that no node exceeds.
    """
    return Rounds(model, depth, [Drafted.of(grown_trees(model, law, policy))])


def grown_trees(model: TableModel, law: str, policy: Policy) -> Iterator[tuple[float, DraftTree, list[int]]]:
    """Every tree that can grow under a policy: its chance, the tree, and the prefix number of each node.

    Args:
        model: the model.
        law: sampling scheme.
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
    for share, drawn, _ in draws(row, action.sampled, law == "iid"):
        slots = [(token, "fixed") for token in fixed] + [(token, "sampled") for token in drawn]
        born = [Node(parent, slot, node.prefix * model.vocabulary + 1 + token, node.depth + 1) for token, slot in slots]
        yield share, replace(partial, nodes=(*partial.nodes, *born), expanded=(*partial.expanded, parent))


def draws(left: Floats, count: int, replacement: bool) -> Iterator[tuple[float, list[int], list[float]]]:
    """Everything that can be drawn from a row.

    Args:
        left: weights of the tokens `[V]`, up to a factor.
        count: number of draws; there are none where no weight is left.
        replacement: whether the draws are independent.

    Yields:
        The chance, the tokens, and for every draw, made or not, a uniform from the middle of the token's cell.
    """
    total = left.sum()
    if count == 0 or total == 0:
        yield 1.0, [], [0.5] * count
        return
    upper = left.cumsum()
    for token in np.nonzero(left)[0].tolist():
        rest, width = left.copy(), float(left[token] / total)
        if not replacement:
            rest[token] = 0.0
        for share, tokens, coins in draws(rest, count - 1, replacement):
            yield share * width, [token, *tokens], [float(upper[token] / total) - width / 2, *coins]


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
