"""Relations that must hold between methods, and between a method and the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from univer.audit.bound import TOLERANCE
from univer.audit.cases import Case
from univer.audit.checks import worst
from univer.audit.examine import CORNERS, CornerRecord, Record
from univer.audit.report import Relation

NEVER_BELOW = (("univer", "greedy"), ("block", "token"))
# Where theory says that a method is optimal: its name, for which cases, and the test for them.
ATTAINED: tuple[tuple[str, str, Callable[[Case], bool]], ...] = (
    ("block", "chains", lambda case: case.law == "chain"),
    ("membership", "trees without sampled children", lambda case: case.law == "fixed"),
    ("token", "depth 1", lambda case: case.depth == 1),
    ("greedy", "depth 1", lambda case: case.depth == 1),
    ("univer", "depth 1", lambda case: case.depth == 1),
    ("optimal", "depth 1", lambda case: case.depth == 1),
    ("optimal-lifted", "depth 1", lambda case: case.depth == 1),
)


def relations(records: Sequence[Record], corners: Sequence[CornerRecord], rounding: float) -> list[Relation]:
    """Every relation that the examined methods take part in.

    Args:
        records: what enumeration found.
        corners: comparisons of closed forms with their family.
        rounding: difference of two accepted lengths or probabilities that counts as rounding.
    """
    by_case = {(record.subject.method.name, record.case): record for record in records if record.subject.is_default}
    found = []
    for better, worse in NEVER_BELOW:
        losses = [
            by_case[worse, case].accepted - record.accepted
            for (name, case), record in by_case.items()
            if name == better and (worse, case) in by_case
        ]
        # The worst gain, which is negative if there is a loss.
        found += [
            replace(relation, worst=-relation.worst)
            for relation in _relation(f"{better} never below {worse}", losses, rounding)
        ]
    for name, where, applies in ATTAINED:
        gaps = [
            record.bound - record.accepted
            for (method, case), record in by_case.items()
            if method == name and record.bound is not None and not case.drop and applies(case)
        ]
        found += _relation(f"{name} attains the bound: {where}", gaps, max(TOLERANCE, rounding))
    for pair in CORNERS:
        differences = [record.difference for record in corners if record.pair == pair]
        found += _relation(f"{pair[0]} equals {pair[1]} on {pair[2]} trees", differences, rounding)
    return found


def _relation(name: str, excesses: list[float], most: float) -> list[Relation]:
    """A relation that holds if no excess is above `most`; none if no case took part in it."""
    return [Relation(name, len(excesses), worst(excesses), worst(excesses) <= most)] if excesses else []
