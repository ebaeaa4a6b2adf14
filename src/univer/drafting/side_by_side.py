"""Several trees below one text, drafted level by level beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from univer.drafting.base import DraftSession, proposal_of
from univer.drafting.growth.base import Growth
from univer.drafting.readings import UnderWay
from univer.tree import DraftTree


def propose_side_by_side(
    session: DraftSession, committed: Sequence[int], growths: Sequence[Growth], generator: torch.Generator, seed: int
) -> list[DraftTree]:
    """Trees of several growths below one text, all drawn with the same random numbers.

    Args:
        session: the session, whose request has `repeated`; where it can, a level of all trees is read in one pass.
        committed: as for `DraftSession.propose`.
        growths: one for each tree.
        generator: that of the session's request; seeded anew for every tree.
        seed: of the random numbers.

    Returns:
        The trees. In low precision a pass rounds by how many rows it has, so that a tree may depend on those beside it;
        its law is right in any case.
    """
    if not getattr(session, "side_by_side", False):
        trees = []
        for growth in growths:
            generator.manual_seed(seed)
            trees.append(session.propose(committed, growth))
            session.settle([])
        return trees
    works = [UnderWay(proposal_of(session, committed, growth)) for growth in growths]
    generator.manual_seed(seed)
    states = [generator.get_state() for _ in works]

    def advance(place: int, read: Any = None) -> None:
        generator.set_state(states[place])
        works[place].advance(read)
        states[place] = generator.get_state()

    for place in range(len(works)):
        advance(place)
    while waiting := [(place, reading) for place, work in enumerate(works) if (reading := work.reading) is not None]:
        (_, first), *others = waiting
        # One text and one draft: all readings go into one pass.
        read = first.together([reading for _, reading in others])
        for (place, _), own in zip(waiting, read, strict=True):
            advance(place, own)
    session.settle([])
    trees = []
    for work in works:
        assert work.result is not None, "a proposal that waits for nothing has ended"
        trees.append(work.result)
    return trees
