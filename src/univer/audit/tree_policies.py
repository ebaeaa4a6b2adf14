"""The tree policies of the package under the audit: every tree they can draw, under every method that takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from univer.audit.checks import worst
from univer.audit.models import make_model
from univer.audit.node_budgets import BUDGETS, budgeted_rounds, grower_round
from univer.audit.report import PolicyRow
from univer.audit.rounds import Rounds
from univer.audit.subject import Subject
from univer.drafting.growth.parse import parse_tree

# Text form, sampling scheme and vocabulary. Budgets are small enough that branches compete for nodes.
POLICIES = (
    *(("grow:nodes=6,depth=2,top_k=3,threshold=0.01,foresight=0", law, 4) for law in ("greedy", "mixed")),
    ("grow:nodes=6,depth=2,top_k=3,threshold=0.01,foresight=0", "swor", 3),
    ("grow:nodes=3,depth=2,top_k=2,threshold=0.01,foresight=0", "mixed", 6),
    *(("grow:nodes=4,depth=3,top_k=2,threshold=0.05", law, 3) for law in ("greedy", "mixed", "chain")),
    ("grow:nodes=5,depth=3,threshold=0.01", "fixed", 3),
    ("eagle2:nodes=5,depth=3,top_k=2", "fixed", 3),
    ("opt:nodes=5,depth=3,top_k=3", "fixed", 3),
    *(("2x2", law, 4) for law in ("greedy", "mixed")),
)
KINDS = ("smooth", "medley", "ties", "zeros")
# Drafted for two rounds, under budgets smaller than the policies' own.
BUDGETED = (
    *(("2x2", law, 3) for law in ("iid", "swor", "greedy")),
    ("4x1", "mixed", 5),
    *(
        ("grow:nodes=6,depth=2,top_k=2,threshold=0.01,foresight=0", law, 3)
        for law in ("greedy", "mixed", "swor", "chain", "fixed")
    ),
    ("eagle2:nodes=6,depth=2,top_k=2", "fixed", 3),
    ("opt:nodes=6,depth=2,top_k=2,cost=0", "fixed", 3),
)
BUDGETED_KINDS = ("medley", "smooth")


def policy_rows(
    subjects: Sequence[Subject], seed: int, quick: bool, progress: Callable[[str, int, int], None]
) -> list[PolicyRow]:
    """One row per policy and sampling scheme that some method takes: one round, or two under changing budgets.

    Args:
        subjects: methods with their sibling orders; each is measured on the trees that it takes.
        seed: of the models.
        quick: fewer kinds of models.
        progress: called with what is being done, the steps done and all steps.
    """
    rows = []
    work: list[tuple[str, str, int, tuple[int, ...], tuple[str, ...]]] = []
    work += [(*policy, (), KINDS[: 2 if quick else None]) for policy in POLICIES]
    work += [(*policy, BUDGETS, BUDGETED_KINDS[: 1 if quick else None]) for policy in BUDGETED]
    for done, (text, law, vocabulary, budgets, kinds) in enumerate(work, start=1):
        drafted = [_rounds(text, law, vocabulary, budgets, kind, seed) for kind in kinds]
        names, errors = set(), []
        for subject in (subject for subject in subjects if subject.method.exact):
            taken = [rounds for rounds in drafted if _takes(subject, rounds)]
            errors += [rounds.measure(subject.outcome).error for rounds in taken]
            names |= {subject.method.name for _ in taken}
        count = sum(len(part.chances) for rounds in drafted for part in rounds.parts)
        if errors:
            rows.append(PolicyRow(text, law, count, len(names), len(errors), worst(errors), budgets))
        progress("tree policies", done, len(work))
    return rows


@cache
def _rounds(text: str, law: str, vocabulary: int, budgets: tuple[int, ...], kind: str, seed: int) -> Rounds:
    policy = parse_tree(text)
    depth, grower = policy.max_depth, policy.start(law, greedy=False)
    model = make_model(kind, vocabulary, (2 if budgets else 1) * (depth + 1), seed)
    return budgeted_rounds(model, grower, depth, budgets) if budgets else grower_round(model, grower, depth)


def _takes(subject: Subject, rounds: Rounds) -> bool:
    try:
        for part in rounds.parts:
            subject.method.check(part.forest, subject.order)
    except ValueError:
        return False
    return True
