"""The whole audit, from the methods to the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import pairwise
from time import monotonic

import torch

from univer.audit.bound import TOLERANCE
from univer.audit.decision import (
    audit_decision,
    audit_rounds,
    generator_faults,
    method_decide,
    method_play,
    one_by_one,
    small_grids,
)
from univer.audit.examine import Examination, Record
from univer.audit.flaws import FLOAT32_ERROR, FLOAT64_ERROR, worst
from univer.audit.growth import Grown, grown_trees
from univer.audit.models import make_model
from univer.audit.montecarlo import ROWS, SHARED_UNIFORMS, count_decisions, differing_verdicts, fixed_trees
from univer.audit.policies import DEPTH, LAWFUL
from univer.audit.relations import relations
from univer.audit.report import Length, Report, Row, TwinRow
from univer.audit.statistics import FAMILY_LEVEL
from univer.audit.subject import Subject, subjects_of
from univer.audit.tree_policies import policy_rows
from univer.audit.twins import CAUGHT, twins
from univer.methods import Method, methods, resolve
from univer.tree import DraftTree
from univer.verdict import Verdict, outcome_law, verify

CASES, QUICK_CASES = 48, 8
QUICK_ROWS = 10_000
GRIDS, QUICK_GRIDS = 12, 5
# Calls of `verify` for one grid, and pairs of trees for two rounds.
MOST_VERDICTS, PAIRS = 150, 3
GROWN_KINDS = ("smooth", "medley", "ties")

# What is being done, how many steps of it are done, and how many there are.
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
    """Audit verification methods on small models, exactly, and on larger ones by counting.

    Args:
        names: names or methods; all known ones by default. The broken twins are part of the audit of all of them.
        cases: cases of each method's own draft law, 48 by default.
        seed: of all random numbers; the same seed gives the same report.
        quick: fewer cases and counts, for continuous integration.
        dtypes: of the laws, `float64` and `float32`.
        progress: told what is being done.

    Returns:
        The report; `.ok` says whether everything is as it must be.

    Raises:
        ValueError: unknown method or dtype.

    Example:
        >>> audit(["token"], cases=2, quick=True).ok
        True
    """
    if unknown := set(dtypes) - {"float32", "float64"}:
        raise ValueError(f"dtypes are float64 and float32, got {min(unknown)!r}")
    started, threads = monotonic(), torch.get_num_threads()
    tell = progress or (lambda what, done, total: None)
    chosen = [resolve(name) for name in (methods() if names is None else names)]
    subjects = [subject for method in chosen for subject in subjects_of(method)]
    report = Report(seed=seed)
    # The tensors are small: more threads would only wait for each other.
    torch.set_num_threads(1)
    try:
        _examine(report, subjects, cases or (QUICK_CASES if quick else CASES), seed, quick, dtypes, tell)
        for done, row in enumerate(report.rows):
            subject = subjects[done]
            # Nothing can be decided by what is no law.
            if not row.faults:
                _decide(row, subject, QUICK_GRIDS if quick else GRIDS, seed)
                _grow(row, subject, seed)
            if subject.is_listed and not row.faults:
                _count(row, subject, ROWS if subject.is_default and not quick else QUICK_ROWS, seed)
            tell("decisions", done + 1, len(subjects))
        for row in report.rows:
            _judge(row, sum(row.tests for row in report.rows))
        report.policies += policy_rows(subjects, seed, quick, tell)
        if names is None:
            listed = twins()
            for done, twin in enumerate(listed):
                error = twin.measure()
                report.twins.append(TwinRow(twin.name, twin.check, twin.shows, error, error > CAUGHT))
                tell("broken twins", done + 1, len(listed))
    finally:
        torch.set_num_threads(threads)
    report.seconds = monotonic() - started
    return report


def _examine(
    report: Report, subjects: list[Subject], cases: int, seed: int, quick: bool, dtypes: Sequence[str], tell: Progress
) -> None:
    order = [getattr(torch, name) for name in ("float64", "float32") if name in dtypes]
    examination = Examination(subjects, cases, seed, order, large=not quick)
    total = len(examination.work)
    for done in examination.run():
        tell("enumeration", done, total)
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
    row.faults += list(dict.fromkeys(record.flaw for record in records if record.flaw))
    return row


def _decide(row: Row, subject: Subject, count: int, seed: int) -> None:
    """The grid of uniforms: one round by the batched decision and one verdict at a time, and two rounds."""
    method, order = subject.method, subject.order
    grids = small_grids(method, count, seed, order)
    found = [audit_decision(grid, method_decide(method, order)) for grid in grids]
    few = [grid for grid in grids if len(grid.rows()[0]) <= MOST_VERDICTS]
    if subject.is_listed:
        found += [audit_decision(grid, one_by_one(method, grid, order)) for grid in few]
    errors = [faults.error for faults in found]
    if subject.is_default:
        rounds = [
            pair for pair in pairwise(few) if len(pair[0].rows()[0]) * len(pair[1].rows()[0]) <= 2 * MOST_VERDICTS
        ]
        errors += [audit_rounds(first, second, method_play(method, order)) for first, second in rounds[:PAIRS]]
    row.grid, row.edges = worst(errors), sum(faults.edges for faults in found)
    row.differing = sum(generator_faults(method, grid, order, seed) for grid in few)


def _grow(row: Row, subject: Subject, seed: int) -> None:
    """Lawful growth. The order `gain` refuses grown trees."""
    if subject.order != "gain":
        law = subject.method.draft_law
        grown = [_grown(law, name, kind, seed) for name in LAWFUL for kind in GROWN_KINDS]
        found = [trees.measure(subject.outcome) for trees in grown]
        row.growth = worst(measured.error for measured in found)
        row.faults += list(dict.fromkeys(measured.flaw for measured in found if measured.flaw))


@cache
def _grown(law: str, policy: str, kind: str, seed: int) -> Grown:
    model = make_model(kind, 3, DEPTH + 1, seed)
    return Grown(model, grown_trees(model, law, LAWFUL[policy](law)), DEPTH)


def _count(row: Row, subject: Subject, rows: int, seed: int) -> None:
    """Counted decisions over larger vocabularies, and `verify` against the batched decision on shared uniforms."""
    method, order = subject.method, subject.order
    decide = method_decide(method, order)
    p_values = []
    for number, (tree, targets) in enumerate(fixed_trees(method.draft_law, seed)):
        law = outcome_law(tree, targets, method, order)
        p_values.append(count_decisions(tree, targets, law, decide, rows, seed + number))
        one = partial(_verdict, method, order)
        shared = SHARED_UNIFORMS // (2 if rows == ROWS else 20)
        row.differing = (row.differing or 0) + differing_verdicts(tree, targets, decide, one, shared, seed)
    row.p_value, row.tests = -worst(-value for value in p_values), len(p_values)


def _verdict(method: Method, order: str, tree: DraftTree, targets: torch.Tensor, uniforms: torch.Tensor) -> Verdict:
    return verify(tree, targets, method, uniforms=uniforms, order=order)


def _judge(row: Row, tests: int) -> None:
    """List what is not as it must be. What a lossy method puts out is shown and not judged."""
    checks: list[tuple[bool, str, float | None, float]] = [
        (row.exact, "law error over two rounds in float64", row.error64, FLOAT64_ERROR),
        (row.exact, "law error over two rounds in float32", row.error32, FLOAT32_ERROR),
        (row.exact and row.error64 is not None, "accepted length above the bound by", row.excess, TOLERANCE),
        (row.exact, "law error over lawfully grown trees", row.growth, FLOAT64_ERROR),
        (True, "verdicts against the outcome law on the grid", row.grid, FLOAT64_ERROR),
        (True, "verdicts decided otherwise at an edge", row.edges, 0),
        (True, "verdicts of verify that differ from the batched decision", row.differing, 0),
    ]
    row.faults += [
        f"{what}: {value:.3g}"
        for judged, what, value, most in checks
        if judged and value is not None and not value <= most
    ]
    if row.p_value is not None and not row.p_value >= FAMILY_LEVEL / tests:
        row.faults.append(f"counted decisions do not follow the outcome law: p = {row.p_value:.1e}")
