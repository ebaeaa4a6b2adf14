"""Which slots of a level are worth their place: the best of all nodes together, under a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from univer.drafting.growth.estimate import Floats


@dataclass(frozen=True)
class Step:
    """Some more slots for one node of a level.

    Attributes:
        gain: expected acceptance per slot that they add.
        place: which node.
        count: slots that the node has with them.
        added: how many of them are new.
    """

    gain: float
    place: int
    count: int
    added: int


@dataclass(frozen=True)
class Budget:
    """Limits of a tree.

    Attributes:
        nodes: nodes that may still be added.
        threshold: least gain per slot.
        foresight: nodes that a slot of gain `g` is expected to bring on later levels, per unit of
            `g / bar - 1`, where `bar` is the least gain admitted; 0 spends the budget without regard to later levels.
    """

    nodes: int
    threshold: float
    foresight: float

    def choose(self, steps: Sequence[Step], nodes: int) -> list[int]:
        """How many slots every node gets.

        The steps of highest gain win, whichever node they belong to. Going through them in that order, the last one
        taken is the last for which what was taken and what is to be expected on later levels fit in the budget.

        Args:
            steps: what the nodes may get, for each node in falling order of gain.
            nodes: how many nodes there are.

        Returns:
            Numbers of slots `[nodes]`.
        """
        counts, taken, value, best = [0] * nodes, 0, 0.0, 0
        order = sorted((step for step in steps if step.gain >= self.threshold), key=lambda step: -step.gain)
        for number, step in enumerate(order, start=1):
            taken, value = taken + step.added, value + step.gain * step.added
            if taken > self.nodes:
                break
            if taken + self.foresight * (value / step.gain - taken) <= self.nodes or best == 0:
                best = number
        for step in order[:best]:
            counts[step.place] = step.count
        return counts


def concave_steps(place: int, values: Floats) -> list[Step]:
    """The steps of a node: its best values by number of slots, where adding slots one by one may not pay at once.

    Args:
        place: which node.
        values: expected acceptance with 0, 1, 2, ... slots.

    Returns:
        The edges of the least concave function above them, in falling order of gain.

    Example:
        >>> import numpy as np
        >>> [(step.count, round(step.gain, 2)) for step in concave_steps(0, np.array([0.0, 0.3, 0.4, 0.6, 0.61]))]
        [(1, 0.3), (3, 0.15), (4, 0.01)]
    """
    # Plain numbers: there are few of them, and entries of arrays are slow to reach one by one.
    worth: list[float] = values.tolist()
    corners, gains = [0], [math.inf]
    for count in range(1, len(worth)):
        if not math.isfinite(worth[count]):
            continue
        while (gain := (worth[count] - worth[corners[-1]]) / (count - corners[-1])) >= gains[-1]:
            corners.pop()
            gains.pop()
        corners.append(count)
        gains.append(gain)
    return [Step(gain, place, high, high - low) for gain, (low, high) in zip(gains[1:], pairwise(corners), strict=True)]
