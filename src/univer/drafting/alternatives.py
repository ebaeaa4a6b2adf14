"""Several trees below one prefix, drafted together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from univer.drafting.base import DraftSession
from univer.drafting.growth.base import Growth
from univer.drafting.proposals import RunningProposal, as_proposal, complete
from univer.tree import DraftTree


def propose_alternatives(
    session: DraftSession, committed: Sequence[int], growths: Sequence[Growth], generator: torch.Generator, seed: int
) -> list[DraftTree]:
    """Trees of several growths below one prefix, all drawn with the same random numbers.

    Args:
        session: the session, whose request has `repeated`; if it is `concurrent`, one pass serves a level of all trees.
        committed: as for `DraftSession.propose`.
        growths: one for each tree.
        generator: the generator of the session's request; it is seeded anew for every tree.
        seed: seed of the random numbers.

    Returns:
        The trees. In low precision the rounding of a pass depends on its number of rows, so a tree may depend on the
        trees drafted with it; its distribution is right in any case.
    """
    if not session.concurrent:
        trees = []
        for growth in growths:
            generator.manual_seed(seed)
            trees.append(complete(session.propose(committed, growth)))
            session.settle([])
        return trees
    running = [RunningProposal(as_proposal(session.propose(committed, growth))) for growth in growths]
    generator.manual_seed(seed)
    states = [generator.get_state() for _ in running]

    def advance(place: int, output: Any = None) -> None:
        generator.set_state(states[place])
        running[place].advance(output)
        states[place] = generator.get_state()

    for place in range(len(running)):
        advance(place)
    while waiting := [(place, work.waiting) for place, work in enumerate(running) if work.waiting is not None]:
        # One sequence and one draft: all inputs go into one pass.
        (_, first), *others = waiting
        outputs = first.run_with([own for _, own in others])
        for (place, _), output in zip(waiting, outputs, strict=True):
            advance(place, output)
    session.settle([])
    trees = []
    for work in running:
        assert work.result is not None, "a proposal that waits for nothing has ended"
        trees.append(work.result)
    return trees
