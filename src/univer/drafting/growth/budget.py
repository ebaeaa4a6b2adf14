"""Which slots a level gets: the best ones of all its nodes together, within a node budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from univer.topology import Floats, Ints


@dataclass(frozen=True)
class Step:
    """A few more slots for one node of a level.

    Attributes:
        gain: expected acceptance that each added slot brings.
        place: index of the node in the level.
        count: number of slots of the node after the step.
        added: number of slots that the step adds.
    """

    gain: float
    place: int
    count: int
    added: int


@dataclass(frozen=True)
class Budget:
    """Limits of a tree while it grows.

    Attributes:
        nodes: number of nodes that may still be added.
        threshold: smallest gain of a slot.
        foresight: share of the budget kept for later levels: a slot of gain `g` is expected to lead to
            `foresight (g / bar - 1)` nodes there, where `bar` is the smallest gain taken; 0 keeps nothing.
    """

    nodes: int
    threshold: float
    foresight: float

    def choose(self, steps: Sequence[Step], nodes: int) -> list[int]:
        """Choose how many slots every node gets.

        Steps are taken in falling order of gain, whichever node they belong to, up to the last one at which the slots
        taken and the nodes expected on later levels fit the budget together.

        Args:
            steps: possible steps, those of each node in falling order of gain.
            nodes: number of nodes of the level.

        Returns:
            Number of slots of every node, `[nodes]`.
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
    """Turn the values of a node into steps of falling gain, joining slots that do not pay one by one.

    Args:
        place: index of the node in the level.
        values: expected acceptance with 0, 1, 2, ... slots, `[C]`.

    Returns:
        The edges of the smallest concave function above the values, in falling order of gain.

    Example:
        >>> import numpy as np
        >>> [(step.count, round(step.gain, 2)) for step in concave_steps(0, np.array([0.0, 0.3, 0.4, 0.6, 0.61]))]
        [(1, 0.3), (3, 0.15), (4, 0.01)]
    """
    # Plain numbers, because reading entries of an array one by one is slow.
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


def best_by_count(values: Floats, most: int) -> tuple[Floats, Ints]:
    """Find the best split of every number of slots into fixed and sampled ones.

    Args:
        values: expected acceptance of `n` nodes with `k` fixed and `r` sampled children, `[n, K + 1, R + 1]`.
        most: largest number of children.

    Returns:
        Expected acceptance of the best split of 0, 1, 2, ... slots, `[n, C]`, and how many of these are sampled,
        `[n, C]`.

    Example:
        >>> best_by_count(np.array([[[0.0, 0.6], [0.5, 0.8]]]), 2)
        (array([[0. , 0.6, 0.8]]), array([[0, 1, 1]]))
    """
    nodes, fixed, sampled = values.shape
    options = np.full((sampled, nodes, fixed + sampled - 1), -np.inf)
    for count in range(sampled):
        options[count, :, count : count + fixed] = values[:, :, count]
    options = options[:, :, : most + 1]
    return options.max(0), options.argmax(0)
