"""The plots of a report, in chapters; one without data is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from univer.bench.report.plots.acceptance import acceptance, gap
from univer.bench.report.plots.canvas import Plot
from univer.bench.report.plots.speed import phases, speed
from univer.bench.report.plots.survival import survival
from univer.bench.report.plots.sweep import depth, temperature
from univer.bench.report.view import View

__all__ = ["CHAPTERS", "Chapter", "Plot"]


@dataclass(frozen=True)
class Chapter:
    """One kind of plot.

    Attributes:
        name: short name, part of ids and of file names.
        heading: over its panels.
        meaning: what is to be seen, in a line or two.
        draw: from the runs to the panels; none where the runs lack what is shown.
    """

    name: str
    heading: str
    meaning: str
    draw: Callable[[Sequence[View]], list[Plot]]


CHAPTERS = (
    Chapter(
        "acceptance",
        "Acceptance length by method",
        "A mark is the mean over prompts, the bar its 95 % interval; the dotted line runs through the reference. "
        "Prompts differ more than methods do, so bars may overlap where the difference is clear: the table above gives "
        "the paired interval of every gain.",
        acceptance,
    ),
    Chapter(
        "depth",
        "Acceptance length by depth",
        "Trees of different depth, from shallow to deep: the longest path that a round could keep. The band is the "
        "95 % interval of the method in front.",
        depth,
    ),
    Chapter(
        "temperature",
        "Acceptance length by temperature",
        "The same trees and prompts at several temperatures of the target. The band is the 95 % interval of the method "
        "in front.",
        temperature,
    ),
    Chapter(
        "survival",
        "Survival by position",
        "Kept at all: the probability that a round keeps at least so many drafted tokens; their sum and 1 make the "
        "acceptance length. Kept given the one before: the same among the rounds that got to the position before.",
        survival,
    ),
    Chapter(
        "speed",
        "Tokens per second against nodes",
        "Committed tokens per second of decoding, the reading of the prompt left out. A larger tree keeps more tokens "
        "and makes every round longer; where a line bends down, nodes cost more than they bring.",
        speed,
    ),
    Chapter(
        "phases",
        "Time of a round by phase",
        "Mean milliseconds of a round in each phase, the reading of the prompt left out. A round of plain decoding "
        "brings one token, a round on a tree as many as its acceptance length says.",
        phases,
    ),
    Chapter(
        "gap",
        "Gap to the bound",
        "The bound is the largest acceptance length that any lossless rule could reach on trees of the same draft law, "
        "by a linear programme. Shown is the mean distance to it over prompts, with its 95 % interval.",
        gap,
    ),
)
