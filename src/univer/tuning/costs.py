"""The time of a round on this machine, as a function of its tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from scipy.optimize import nnls

from univer.drafting.shapes import Shape, from_parents
from univer.tuning.alternating import TreeRecord
from univer.tuning.curve import Curve, rising_curve
from univer.tuning.timing import Timings

# Largest number of children of a node in trees for measuring costs; the sibling order `gain` supports up to 10.
MOST_CHILDREN = 8


@dataclass(frozen=True)
class Costs:
    r"""Seconds of every part of a round of the engine.

        round = root + sum_l levels(w_l) + target(n + 1) + distributions(n + 1) + verification(sum_l w_l) + cache

    with `n` drafted nodes and `w_l` nodes that the draft reads on level `l` below the root.

    Attributes:
        target: target pass, by number of tokens.
        distributions: from logits to distributions, by number of tokens.
        root: first level of the draft, including the committed tokens that it reads.
        levels: each further level of the draft, by number of nodes read.
        verification: the verdict, by number of nodes with children.
        cache: keeping the accepted path in the caches.
        plain: a whole round of plain decoding.
        prompt: prefill of the target, by number of tokens.
        draft_prompt: prefill of the draft, by number of tokens.
    """

    target: Curve
    distributions: Curve
    root: float
    levels: Curve
    verification: Curve
    cache: float
    plain: float
    prompt: Curve
    draft_prompt: Curve

    def draft_seconds(self, widths: Sequence[int]) -> float:
        """Return the time of drafting a tree.

        Args:
            widths: number of nodes read on each level, the root's level first.
        """
        return self.root + sum(map(self.levels, widths[1:]))

    def round_seconds(self, nodes: int, widths: Sequence[int]) -> float:
        """Return the time of a round; without any level that of plain decoding.

        Args:
            nodes: number of drafted nodes, root excluded.
            widths: number of nodes read on each level, the root's level first.
        """
        if not widths:
            return self.plain
        reading = self.target(nodes + 1) + self.distributions(nodes + 1)
        return self.draft_seconds(widths) + reading + self.verification(sum(widths)) + self.cache


def cost_shapes(law: str, max_nodes: int) -> list[Shape]:
    """List trees to measure costs on: a few branches of one to three levels, so that each width occurs once or twice.

    Args:
        law: sampling scheme.
        max_nodes: largest tree of interest, root excluded; some shapes are slightly larger.

    Example:
        >>> [len(shape.parents) for shape in cost_shapes("greedy", 8)]
        [2, 4, 3, 7, 5, 9, 9]
    """
    shapes = []
    width = 1
    while width <= (1 if law == "chain" else max(1, max_nodes)):
        depths = (1, 2, 3) if width <= MOST_CHILDREN else (2, 3)
        possible = [_branches(width, depth, law) for depth in depths]
        fitting = [shape for shape in possible if len(shape.parents) - 1 <= 1.25 * max_nodes]
        # The costs of the shape in between follow from the first and the last.
        shapes += [shape for shape in fitting if shape in (fitting[0], fitting[-1])]
        width *= 2
    if law == "chain":
        shapes += [from_parents(range(-1, size), law) for size in (5, 8, 13) if size <= max_nodes]
    return shapes


def _branches(width: int, depth: int, law: str) -> Shape:
    parents, level = [-1], [0]
    for number in range(depth):
        start = len(parents)
        count = min(width, MOST_CHILDREN) if number == 0 else width
        parents += [level[place * len(level) // count] for place in range(count)]
        level = list(range(start, len(parents)))
    return from_parents(parents, law, f"{width} branches of {depth}")


def fit_costs(timings: Timings) -> Costs:
    """Fit costs to timed rounds.

    Each figure is a median over the rounds of equal size. The time of drafting a tree is the sum of its levels; their
    costs are fitted to the medians of trees with equal levels, by least squares under the condition that a wider level
    costs no less.

    Args:
        timings: rounds of several shapes.

    Raises:
        ValueError: no round was timed.
    """
    rounds = timings.rounds
    if not rounds or not timings.plain or not timings.prefills:
        raise ValueError("no round was timed: there is nothing to fit costs to")
    root, levels = _draft_costs(rounds)
    prefills = [
        (tokens, first.seconds, root + sum(map(levels, first.widths[1:])) if first.widths else 0.0)
        for tokens, first in timings.prefills
    ]
    # Rounds of plain decoding read a single token.
    read = [(entry.nodes + 1, entry.seconds) for entry in rounds] + [(1, seconds) for seconds in timings.plain]
    return Costs(
        target=_curve((tokens, seconds["target"]) for tokens, seconds in read),
        distributions=_curve((tokens, seconds["distributions"]) for tokens, seconds in read),
        root=root,
        levels=levels,
        verification=_curve((sum(entry.widths), entry.seconds["verification"]) for entry in rounds),
        cache=median(entry.seconds["cache"] for entry in rounds),
        plain=median(sum(seconds.values()) for seconds in timings.plain),
        prompt=_curve((tokens, spent["prefill"]) for tokens, spent, _ in prefills),
        draft_prompt=_curve((tokens, max(0.0, spent["draft"] - tree)) for tokens, spent, tree in prefills),
    )


def _curve(measured: Iterable[tuple[int, float]]) -> Curve:
    """The curve through pairs of a size and a time."""
    by_size: defaultdict[int, list[float]] = defaultdict(list)
    for size, seconds in measured:
        by_size[size].append(seconds)
    return rising_curve(by_size)


def _draft_costs(rounds: Sequence[TreeRecord]) -> tuple[float, Curve]:
    """Time of the first level, and of the others by width."""
    spent: defaultdict[tuple[int, ...], list[float]] = defaultdict(list)
    for entry in rounds:
        spent[entry.widths[1:]].append(entry.seconds["draft"])
    # The unknowns are the first level and, from each width to the next, the step of the curve.
    sizes = sorted({width for widths in spent for width in widths})
    steps_of = [[1, *(sum(width >= size for width in widths) for size in sizes)] for widths in spent]
    weights = np.sqrt([len(seconds) for seconds in spent.values()])
    root, *steps = nnls(weights[:, None] * steps_of, weights * [median(seconds) for seconds in spent.values()])[0]
    return float(root), Curve(tuple(sizes), tuple(np.cumsum(steps).tolist())) if sizes else Curve((1,), (0.0,))
