"""What a round costs on this machine, as a function of its tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from univer.drafting.shapes import Shape, from_parents
from univer.tuning.curve import Curve, rising_curve
from univer.tuning.timing import TimedRound, Timings

# A node gets no more children than this where costs are measured: the sibling order `gain` takes up to 10.
MOST_CHILDREN = 8


@dataclass(frozen=True)
class Costs:
    r"""Seconds of everything that a round of the engine consists of.

        round = root + sum_l level(w_l) + target(n + 1) + laws(n + 1) + verification(sum_l w_l) + cache

    with `n` drafted nodes and `w_l` nodes read by the draft below the root, by level.

    Attributes:
        target: target pass, by rows.
        laws: from logits to laws, by rows.
        root: drafting the first level, with what the draft reads of the committed text.
        levels: a further level of the draft, by the nodes that it reads.
        verification: the verdict, by nodes with children.
        cache: keeping the accepted path.
        plain: a whole round of plain decoding.
        prompt: reading the prompt by the target, by its tokens.
        draft_prompt: reading the prompt by the draft.
    """

    target: Curve
    laws: Curve
    root: float
    levels: Curve
    verification: Curve
    cache: float
    plain: float
    prompt: Curve
    draft_prompt: Curve

    def draft_seconds(self, widths: Sequence[int]) -> float:
        """Time of drafting a tree.

        Args:
            widths: nodes read at every level, the root's first.
        """
        return self.root + sum(map(self.levels, widths[1:]))

    def round_seconds(self, nodes: int, widths: Sequence[int]) -> float:
        """Time of a round; a plain one where the draft is not asked.

        Args:
            nodes: drafted nodes, the root left out.
            widths: nodes read at every level, the root's first.
        """
        if not widths:
            return self.plain
        reading = self.target(nodes + 1) + self.laws(nodes + 1)
        return self.draft_seconds(widths) + reading + self.verification(sum(widths)) + self.cache

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists for JSON."""
        return {name: value.to_dict() if isinstance(value, Curve) else value for name, value in vars(self).items()}

    @staticmethod
    def from_dict(table: Mapping[str, Any]) -> Costs:
        """The costs that `to_dict` wrote."""
        parts: dict[str, Any] = {
            name: Curve.from_dict(value) if isinstance(value, Mapping) else float(value)
            for name, value in table.items()
        }
        return Costs(**parts)


def cost_shapes(law: str, max_nodes: int) -> list[Shape]:
    """Trees to measure costs on: a few branches of one to three levels, so that every width is read once or twice.

    Args:
        law: draft law.
        max_nodes: largest tree of interest, the root left out; some are a little larger.

    Example:
        >>> [len(shape.parents) for shape in cost_shapes("greedy", 8)]
        [2, 4, 3, 7, 5, 9, 9]
    """
    shapes = []
    width = 1
    while width <= (1 if law == "chain" else max(1, max_nodes)):
        own = [_branches(width, depth, law) for depth in ((1, 2, 3) if width <= MOST_CHILDREN else (2, 3))]
        fitting = [shape for shape in own if len(shape.parents) - 1 <= 1.25 * max_nodes]
        # The first and the last tell what is between them.
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
    """Costs from timed rounds.

    Every figure is a median, of the rounds of equal size. The first level of the draft is taken from trees that have no
    other; a wider level is what a tree costs more than its narrower ones, whose costs are then known.

    Args:
        timings: rounds of several shapes.

    Raises:
        ValueError: no round was timed.
    """
    rounds = timings.rounds
    if not rounds or not timings.plain or not timings.prompts:
        raise ValueError("no round was timed: costs cannot be told")
    root, levels = _draft_costs(rounds)
    prompt: dict[int, list[float]] = {}
    draft_prompt: dict[int, list[float]] = {}
    for entry in timings.prompts:
        tree = root + sum(map(levels, entry.widths[1:])) if entry.widths else 0.0
        prompt.setdefault(entry.tokens, []).append(entry.target)
        draft_prompt.setdefault(entry.tokens, []).append(max(0.0, entry.draft - tree))
    return Costs(
        target=rising_curve(
            _by(rounds, "target", lambda entry: entry.nodes + 1) | {1: [entry["target"] for entry in timings.plain]}
        ),
        laws=rising_curve(
            _by(rounds, "laws", lambda entry: entry.nodes + 1) | {1: [entry["laws"] for entry in timings.plain]}
        ),
        root=root,
        levels=levels,
        verification=rising_curve(_by(rounds, "verification", lambda entry: sum(entry.widths))),
        cache=median(entry.seconds["cache"] for entry in rounds),
        plain=median(sum(entry.values()) for entry in timings.plain),
        prompt=rising_curve(prompt),
        draft_prompt=rising_curve(draft_prompt),
    )


def _by(rounds: Sequence[TimedRound], phase: str, size: Any) -> dict[int, list[float]]:
    table: dict[int, list[float]] = {}
    for entry in rounds:
        table.setdefault(size(entry), []).append(entry.seconds[phase])
    return table


def _draft_costs(rounds: Sequence[TimedRound]) -> tuple[float, Curve]:
    """Time of the first level and of the others by width."""
    spent: dict[tuple[int, ...], list[float]] = {}
    for entry in rounds:
        spent.setdefault(tuple(sorted(entry.widths[1:])), []).append(entry.seconds["draft"])
    # Drafts without a model may never get to a tree of one level; their levels cost next to nothing.
    first = min(spent, key=len)
    root = median(spent.pop(first))
    known: dict[int, list[float]] = {}
    for widths, seconds in sorted(spent.items(), key=lambda item: item[0][::-1]):
        if known:
            curve = rising_curve(known)
            rest = [seconds - sum(map(curve, widths[: widths.index(widths[-1])])) for seconds in seconds]
        else:
            rest = list(seconds)
        count = widths.count(widths[-1]) if known else len(widths)
        known.setdefault(widths[-1], []).extend((value - root) / count for value in rest)
    if not known:
        return root, Curve((1,), (0.0,))
    curve = rising_curve(known)
    return root, Curve(curve.sizes, tuple(max(0.0, value) for value in curve.seconds))
