"""How trees may grow: policies that use everything drafted so far and still keep every exact method exact."""

from __future__ import annotations

from univer.audit.growth import SLOTS, Drop, Expand, Partial, Policy
from univer.audit.models import TableModel

DEPTH = 2


def best_first(law: str, expansions: int = 3) -> Policy:
    """Expand the node whose path the draft finds most likely, sampled tokens included, a fixed number of times."""

    def policy(partial: Partial, model: TableModel) -> Expand | None:
        leaves = partial.leaves(DEPTH)
        if not leaves or len(partial.expanded) == expansions:
            return None
        best = max(leaves, key=lambda node: (_path_chance(partial, node, model), -node))
        return Expand(best, *_choice(law, len(partial.expanded)))

    return policy


def across_branches(law: str) -> Policy:
    """How many children a node gets depends on what was sampled below the siblings expanded before it."""

    def policy(partial: Partial, model: TableModel) -> Expand | None:
        leaves = partial.leaves(DEPTH)
        if not leaves:
            return None
        seen = sum(partial.token(node, model.vocabulary) + 1 for node in range(1, len(partial.nodes)))
        if partial.nodes[leaves[0]].depth == 0:
            return Expand(0, *SLOTS[law][0])
        # The last sibling goes without children if what was drafted before adds up to a multiple of three.
        return None if len(leaves) == 1 and seen % 3 == 0 else Expand(leaves[0], *_choice(law, seen))

    return policy


def by_own_token(law: str) -> Policy:
    """A child is expanded if its own token is even, the last one drawn first."""

    def policy(partial: Partial, model: TableModel) -> Expand | None:
        leaves = [node for node in partial.leaves(DEPTH) if node == 0 or partial.token(node, model.vocabulary) % 2 == 0]
        return Expand(leaves[-1], *_choice(law, leaves[-1])) if leaves else None

    return policy


def drop_fixed_leaf(law: str) -> Policy:
    """A fixed child is dropped for a token of its sampled siblings, before anything is drawn below one of them.

    It stays excluded from their sampling distribution.
    """

    def policy(partial: Partial, model: TableModel) -> Expand | Drop | None:
        if not partial.expanded:
            return Expand(0, *SLOTS[law][0])
        children = partial.children(0)
        fixed = [child for child in children if partial.nodes[child].slot == "fixed"]
        others = [child for child in children if child not in fixed]
        if fixed and not partial.dropped and any(partial.token(node, model.vocabulary) % 2 == 0 for node in others):
            return Drop(fixed[0])
        waiting = [child for child in others if child not in partial.expanded]
        return Expand(waiting[0], *_choice(law, waiting[0])) if waiting else None

    return policy


LAWFUL = {
    "best first": best_first,
    "across branches": across_branches,
    "by own token": by_own_token,
    "drop a fixed leaf": drop_fixed_leaf,
}


def _choice(law: str, number: int) -> tuple[int, int]:
    return SLOTS[law][number % len(SLOTS[law])]


def _path_chance(partial: Partial, node: int, model: TableModel) -> float:
    chance = 1.0
    while node > 0:
        parent = partial.nodes[node].parent
        chance *= float(model.draft[partial.nodes[parent].prefix, partial.token(node, model.vocabulary)])
        node = parent
    return chance
