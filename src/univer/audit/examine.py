"""Exact enumeration of all cases, each shared by the methods that take it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from univer.audit.bound import BoundTooLargeError, accepted_length_bound
from univer.audit.cases import Case, method_cases
from univer.audit.checks import worst
from univer.audit.enumeration import TooManyTreesError, two_rounds
from univer.audit.report import Skipped
from univer.audit.rounds import Measured, Rounds
from univer.audit.subject import Subject

# Closed form, the family that it is a corner of, and the sampling scheme on which the two are the same.
CORNERS = (
    *(("token", "mixed", "chain"), ("block", "univer-mixed", "chain"), ("rrsw", "mixed", "swor")),
    *(("traversal", "univer-mixed", "swor"), ("greedy", "mixed", "greedy"), ("univer", "univer-mixed", "greedy")),
    *(("membership", "mixed", "fixed"), ("membership", "univer-mixed", "fixed"), ("univer", "univer-mixed", "fixed")),
)


@dataclass(frozen=True)
class Record:
    """What enumeration found about one subject on one case.

    Attributes:
        subject: the method and its order.
        case: the case.
        trees: drafted trees of the first round.
        accepted: expected accepted length of the first round.
        bound: the most that any lossless rule could reach; None where the programme is too large.
        errors: largest error of the distribution of two rounds, by dtype.
        fault: what makes some outcome distribution invalid; empty if nothing does.
    """

    subject: Subject
    case: Case
    trees: int
    accepted: float
    bound: float | None
    errors: dict[torch.dtype, float]
    fault: str


@dataclass(frozen=True)
class CornerRecord:
    """Largest difference between the outcome distributions of a closed form and its family on one case."""

    pair: tuple[str, str, str]
    case: Case
    difference: float


class Examination:
    """All cases of some subjects.

    Args:
        subjects: what is examined.
        count: cases of each method's own sampling scheme.
        seed: of the models.
        dtypes: of the distributions; the first gives the accepted lengths.
        large: whether to take cases close to the limits.
    """

    def __init__(
        self, subjects: Sequence[Subject], count: int, seed: int, dtypes: Sequence[torch.dtype], large: bool
    ) -> None:
        self.dtypes = dtypes
        self.work: dict[Case, list[Subject]] = {}
        for subject in subjects:
            cases = method_cases(subject.method, count, seed, large)
            for case in cases if subject.is_listed else cases[::2]:
                self.work.setdefault(case, []).append(subject)
        self.records: list[Record] = []
        self.corners: list[CornerRecord] = []
        self.skipped: list[Skipped] = []

    def run(self) -> Iterator[int]:
        """Examine case after case; yields how many are done."""
        for done, (case, subjects) in enumerate(self.work.items(), start=1):
            self._examine(case, subjects)
            yield done

    def _examine(self, case: Case, subjects: list[Subject]) -> None:
        names = tuple(dict.fromkeys(subject.method.name for subject in subjects))
        try:
            rounds = {dtype: two_rounds(case, dtype) for dtype in self.dtypes}
        except TooManyTreesError as error:
            self.skipped.append(Skipped(case.name, names, str(error)))
            return
        main = rounds[self.dtypes[0]]
        bound = None
        try:
            bound = accepted_length_bound(main.first, main.model, case.depth)
        except BoundTooLargeError as error:
            self.skipped.append(Skipped(f"bound of {case.name}", names, str(error)))
        faulty = []
        for subject in (subject for subject in subjects if subject.takes(case)):
            wanted = self.dtypes if subject.is_listed else self.dtypes[:1]
            found = {dtype: _measure(case, rounds[dtype], subject) for dtype in wanted}
            errors = {dtype: measured.error for dtype, measured in found.items()}
            fault = next((measured.fault for measured in found.values() if measured.fault), "")
            if fault:
                faulty.append(subject)
            accepted = found[self.dtypes[0]].accepted
            self.records.append(Record(subject, case, main.first_trees, accepted, bound, errors, fault))
        sound = {subject.method.name: subject for subject in subjects if subject.is_default and subject not in faulty}
        self.corners += self._compare(case, main, sound)

    def _compare(self, case: Case, rounds: Rounds, subjects: dict[str, Subject]) -> Iterator[CornerRecord]:
        for pair in CORNERS:
            if pair[2] == case.law and pair[0] in subjects and pair[1] in subjects:
                one, other = subjects[pair[0]], subjects[pair[1]]
                differences = []
                for drafted in rounds.first:
                    targets = drafted.target_laws(rounds.model)
                    difference = one.outcome(drafted.forest, targets) - other.outcome(drafted.forest, targets)
                    differences.append(float(difference.abs().max()))
                yield CornerRecord(pair, case, worst(differences))


def _measure(case: Case, rounds: Rounds, subject: Subject) -> Measured:
    """What enumeration finds; a method that raises has a fault, and the audit of the others goes on."""
    try:
        return rounds.measure(subject.outcome)
    except ValueError as error:
        nan = float("nan")
        return Measured(nan, nan, nan, f"no outcome distribution on {case.name}: {error}")
