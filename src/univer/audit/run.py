"""The whole audit, from the methods to the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from time import monotonic

import torch

from univer.audit.bound import TOLERANCE
from univer.audit.checks import FAMILY_LEVEL, FLOAT32_ERROR, FLOAT64_ERROR, worst
from univer.audit.examine import Examination, Record
from univer.audit.grids import (
    audit_round,
    audit_rounds,
    generator_faults,
    one_by_one,
    play_by,
    small_grids,
    verify_by,
)
from univer.audit.growth import grown_round
from univer.audit.models import make_model
from univer.audit.montecarlo import ROWS, count_verdicts, fixed_trees
from univer.audit.policies import DEPTH, LAWFUL
from univer.audit.relations import relations
from univer.audit.report import Length, Report, Row, TwinRow
from univer.audit.rounds import Rounds
from univer.audit.subject import Subject, subjects_of
from univer.audit.tree_policies import policy_rows
from univer.audit.twins import CAUGHT, twins
from univer.methods import Method, methods, resolve
from univer.verdict import outcome_law

CASES, QUICK_CASES = 48, 8
QUICK_ROWS = 10_000
GRIDS, QUICK_GRIDS = 12, 5
# Calls of `verify` for one grid, and pairs of trees for two rounds.
MOST_VERDICTS, PAIRS = 150, 3
GROWN_KINDS = ("smooth", "medley", "ties")

# Called with what is being done, the steps done and all steps.
Progress = Callable[[str, int, int], None]


def audit(
    names: Iterable[str | Method] | None = None,
    *,
    cases: int | None = None,
    seed: int = 0,
    quick: bool = False,
    dtypes: Sequence[str] = ("float64", "float32"),
    progress: Progress | None = None,
) -> Report:
    """Audit verification methods: exactly on small models, and by counting on larger ones.

    Args:
        names: names or methods; all known ones by default. Only then the broken twins are run as well.
        cases: cases of each method's own sampling scheme; 48 by default, 8 if `quick`.
        seed: of all random numbers; the same seed gives the same report.
        quick: fewer cases and counts, for continuous integration.
        dtypes: of the distributions, `float64` and `float32`.
        progress: called with what is being done, the steps done and all steps.

    Returns:
        The report; `.ok` says whether the audit passed.

    Raises:
        ValueError: unknown method or dtype.

    Example:
        >>> audit(["token"], cases=2, quick=True).ok
        True
    """
    if unknown := set(dtypes) - {"float32", "float64"}:
        raise ValueError(f"dtypes are float64 and float32, got {min(unknown)!r}")
    started, threads = monotonic(), torch.get_num_threads()
    progress = progress or (lambda what, done, total: None)
    chosen = [resolve(name) for name in (methods() if names is None else names)]
    subjects = [subject for method in chosen for subject in subjects_of(method)]
    report = Report(seed=seed)
    # The tensors are small: more threads would only wait for each other.
    torch.set_num_threads(1)
    try:
        _enumerate(report, subjects, cases or (QUICK_CASES if quick else CASES), seed, quick, dtypes, progress)
        for done, (row, subject) in enumerate(zip(report.rows, subjects, strict=True), start=1):
            # The other checks need valid distributions.
            if not row.faults:
                _check_grids(row, subject, QUICK_GRIDS if quick else GRIDS, seed)
                _check_growth(row, subject, seed)
            if subject.is_listed and not row.faults:
                _count(row, subject, ROWS if subject.is_default and not quick else QUICK_ROWS, seed)
            progress("verification", done, len(subjects))
        for row in report.rows:
            _list_faults(row, sum(row.tests for row in report.rows))
        report.policies += policy_rows(subjects, seed, quick, progress)
        if names is None:
            listed = twins()
            for done, twin in enumerate(listed, start=1):
                error = twin.measure()
                report.twins.append(TwinRow(twin.name, twin.check, twin.shows, error, error > CAUGHT))
                progress("broken twins", done, len(listed))
    finally:
        torch.set_num_threads(threads)
    report.seconds = monotonic() - started
    return report


def _enumerate(
    report: Report,
    subjects: list[Subject],
    cases: int,
    seed: int,
    quick: bool,
    dtypes: Sequence[str],
    progress: Progress,
) -> None:
    """Small cases: error over two rounds, accepted length, bound, and relations between methods."""
    order = [getattr(torch, name) for name in ("float64", "float32") if name in dtypes]
    examination = Examination(subjects, cases, seed, order, large=not quick)
    for done in examination.run():
        progress("enumeration", done, len(examination.work))
    for subject in subjects:
        found = [record for record in examination.records if record.subject == subject]
        report.rows.append(_row(subject, found))
    rounding = FLOAT64_ERROR if torch.float64 in order else FLOAT32_ERROR
    report.relations += relations(examination.records, examination.corners, rounding)
    report.skipped += examination.skipped
    report.lengths += [
        Length(
            subject.method.name if subject.is_default else f"{subject.method.name} ({subject.order})",
            record.case.name,
            record.case.law,
            len(record.case.shape.parents) - 1,
            record.accepted,
            record.bound,
        )
        for record in examination.records
        if (subject := record.subject).is_listed and record.case.law == subject.method.draft_law
        if record.bound is not None
    ]


def _row(subject: Subject, records: list[Record]) -> Row:
    method = subject.method
    row = Row(method.name, subject.order, method.exact, method.draft_law, len(records), sum(r.trees for r in records))
    for dtype, name in ((torch.float64, "error64"), (torch.float32, "error32")):
        errors = [record.errors[dtype] for record in records if dtype in record.errors]
        setattr(row, name, worst(errors) if errors else None)
    pairs = [(record.accepted, record.bound) for record in records if record.bound is not None]
    if pairs:
        row.bounded = len(pairs)
        row.accepted = sum(accepted for accepted, _ in pairs) / len(pairs)
        row.bound = sum(bound for _, bound in pairs) / len(pairs)
        row.attained = sum(bound - accepted <= TOLERANCE for accepted, bound in pairs)
        row.excess = worst(accepted - bound for accepted, bound in pairs)
    row.faults += list(dict.fromkeys(record.fault for record in records if record.fault))
    return row


def _check_grids(row: Row, subject: Subject, count: int, seed: int) -> None:
    """Grids of uniforms: one round, of many trees at once and tree by tree, and two rounds."""
    method, order = subject.method, subject.order
    grids = small_grids(method, count, seed, order)
    found = [audit_round(grid, verify_by(method, order)) for grid in grids]
    few = [grid for grid in grids if len(grid.rows()[0]) <= MOST_VERDICTS]
    if subject.is_listed:
        found += [audit_round(grid, one_by_one(method, grid, order)) for grid in few]
    errors = [faults.error for faults in found]
    if subject.is_default:
        rounds = [
            pair for pair in pairwise(few) if len(pair[0].rows()[0]) * len(pair[1].rows()[0]) <= 2 * MOST_VERDICTS
        ]
        errors += [audit_rounds(first, second, play_by(method, order)) for first, second in rounds[:PAIRS]]
    row.grid, row.edges = worst(errors), sum(faults.edges for faults in found)
    row.differing = sum(generator_faults(method, grid, order, seed) for grid in few)


def _check_growth(row: Row, subject: Subject, seed: int) -> None:
    """Trees grown within the growth rule; the order `gain` does not support grown trees."""
    if subject.order != "gain":
        law = subject.method.draft_law
        grown = [_grown(law, name, kind, seed) for name in LAWFUL for kind in GROWN_KINDS]
        found = [rounds.measure(subject.outcome) for rounds in grown]
        row.growth = worst(measured.error for measured in found)
        row.faults += list(dict.fromkeys(measured.fault for measured in found if measured.fault))


@cache
def _grown(law: str, policy: str, kind: str, seed: int) -> Rounds:
    return grown_round(make_model(kind, 3, DEPTH + 1, seed), law, LAWFUL[policy](law), DEPTH)


def _count(row: Row, subject: Subject, rows: int, seed: int) -> None:
    """Counted verdicts over larger vocabularies."""
    method, order = subject.method, subject.order
    p_values = []
    for number, (tree, targets) in enumerate(fixed_trees(method.draft_law, seed)):
        expected = outcome_law(tree, targets, method, order)
        p_values.append(count_verdicts(tree, targets, expected, verify_by(method, order), rows, seed + number))
    row.p_value, row.tests = -worst(-value for value in p_values), len(p_values)


def _list_faults(row: Row, tests: int) -> None:
    """Compare what was found with its tolerance; the output distribution of a lossy method is only shown."""
    checks: list[tuple[bool, str, float | None, float]] = [
        (row.exact, "error of the output distribution of two rounds in float64", row.error64, FLOAT64_ERROR),
        (row.exact, "error of the output distribution of two rounds in float32", row.error32, FLOAT32_ERROR),
        (row.exact and row.error64 is not None, "accepted length above the bound by", row.excess, TOLERANCE),
        (row.exact, "error of the output distribution over grown trees", row.growth, FLOAT64_ERROR),
        (True, "error of the verdicts on the grid against the outcome distribution", row.grid, FLOAT64_ERROR),
        (True, "verdicts that differ at the edge of a cell", row.edges, 0),
        (True, "rounds in which verify does not use the next uniforms of its generator", row.differing, 0),
    ]
    row.faults += [
        f"{what}: {value:.3g}"
        for applies, what, value, most in checks
        if applies and value is not None and not value <= most
    ]
    if row.p_value is not None and not row.p_value >= FAMILY_LEVEL / tests:
        row.faults.append(f"counted verdicts do not follow the outcome distribution: p = {row.p_value:.1e}")
