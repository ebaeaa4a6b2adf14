"""Policies against the growth rule: slots added or dropped too late. Everything here is wrong on purpose."""

from __future__ import annotations

from univer.audit.growth import Drop, Expand, Partial, Policy
from univer.audit.models import TableModel


def add_slot_late(partial: Partial, model: TableModel) -> Expand | None:
    """A fixed sibling is added at the root if the token sampled below its sampled child is 0."""
    if not partial.expanded:
        return Expand(0, 0, 1)
    if 1 not in partial.expanded:
        return Expand(1, 0, 1)
    late = partial.expanded.count(0) == 1 and partial.token(2, model.vocabulary) == 0
    return Expand(0, 1, 0) if late else None


def drop_sampled_by_its_token(partial: Partial, model: TableModel) -> Expand | Drop | None:
    """The sampled child is dropped if its own token is 0."""
    if not partial.expanded:
        return Expand(0, 1, 1)
    dropped = [child for child in partial.children(0)[1:] if partial.token(child, model.vocabulary) == 0]
    return Drop(dropped[0]) if dropped and not partial.dropped else None


def drop_fixed_by_its_child(partial: Partial, model: TableModel) -> Expand | Drop | None:
    """A fixed child is dropped if the token sampled below it is 0."""
    if not partial.expanded:
        return Expand(0, 1, 1)
    if 1 not in partial.expanded:
        return Expand(1, 0, 1)
    below = [partial.token(node, model.vocabulary) for node in partial.children(1)]
    return Drop(1) if 0 in below and not partial.dropped else None


def drop_fixed_by_its_siblings_child(partial: Partial, model: TableModel) -> Expand | Drop | None:
    """A fixed child is dropped if the token sampled below its sampled sibling is 0, which is tested after it."""
    if not partial.expanded:
        return Expand(0, 1, 1)
    sampled = partial.children(0)[1:]
    if not sampled:
        return None
    if sampled[0] not in partial.expanded:
        return Expand(sampled[0], 0, 1)
    below = [partial.token(node, model.vocabulary) for node in partial.children(sampled[0])]
    return Drop(1) if 0 in below and not partial.dropped else None


def drop_fixed_and_forget_it(partial: Partial, model: TableModel) -> Expand | Drop | None:
    """A fixed child beside a sampled one is dropped, and `S` computed as if it had never been there."""
    if not partial.expanded:
        return Expand(0, 1, 1)
    return None if partial.dropped else Drop(1, remember=False)


# Name, then method, sampling scheme and policy.
UNLAWFUL: dict[str, tuple[str, str, Policy]] = {
    "slot added to a node after looking below": ("univer", "greedy", add_slot_late),
    "sampled child dropped by its token": ("univer", "greedy", drop_sampled_by_its_token),
    "fixed child dropped for what was sampled below it": ("univer", "greedy", drop_fixed_by_its_child),
    "fixed child dropped for what was sampled below its sibling": (
        "univer",
        "greedy",
        drop_fixed_by_its_siblings_child,
    ),
    "fixed child dropped beside a sampled one, S recomputed": ("univer", "greedy", drop_fixed_and_forget_it),
}
