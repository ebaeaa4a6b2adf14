"""The tree policies of the package under the audit: every tree they can draw, under every method that takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from univer.audit.flaws import worst
from univer.audit.growth import Grown
from univer.audit.models import make_model
from univer.audit.node_budgets import BUDGETS, BudgetedRounds
from univer.audit.product_growth import product_trees
from univer.audit.report import PolicyRow
from univer.audit.subject import Subject
from univer.drafting.growth.parse import parse_tree

# Text form, draft law and vocabulary. Budgets are small enough to bind: what one branch gets another goes without.
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
# Those whose trees are drafted for two rounds under other budgets than their own, which are larger.
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
    subjects: Sequence[Subject], seed: int, quick: bool, tell: Callable[[str, int, int], None]
) -> list[PolicyRow]:
    """One row per policy and draft law that some method takes, for one round and for two under changing budgets.

    Args:
        subjects: methods with their sibling orders; each sees the trees that it takes.
        seed: of the models.
        quick: fewer kinds of models.
        tell: told what is being done.
    """
    rows = []
    work: list[tuple[str, str, int, tuple[int, ...], tuple[str, ...]]] = []
    work += [(*policy, (), KINDS[: 2 if quick else None]) for policy in POLICIES]
    work += [(*policy, BUDGETS, BUDGETED_KINDS[: 1 if quick else None]) for policy in BUDGETED]
    for done, (text, law, vocabulary, budgets, kinds) in enumerate(work):
        grown = [_grown(text, law, vocabulary, budgets, kind, seed) for kind in kinds]
        names, errors = set(), []
        for subject in subjects:
            taken = [trees for trees in grown if _takes(subject, trees)]
            errors += [trees.measure(subject.outcome).error for trees in taken if subject.method.exact]
            names |= {subject.method.name for _ in taken if subject.method.exact}
        count = sum(len(forest.topology.roots) for trees in grown for forest in trees.forests)
        if errors:
            rows.append(PolicyRow(text, law, count, len(names), len(errors), worst(errors), budgets))
        tell("tree policies", done + 1, len(work))
    return rows


@cache
def _grown(
    text: str, law: str, vocabulary: int, budgets: tuple[int, ...], kind: str, seed: int
) -> Grown | BudgetedRounds:
    policy = parse_tree(text)
    depth, grower = policy.max_depth, policy.start(law, greedy=False)
    model = make_model(kind, vocabulary, (2 if budgets else 1) * (depth + 1), seed)
    if budgets:
        return BudgetedRounds(model, grower, depth, budgets)
    return Grown(model, product_trees(grower, model, depth), depth)


def _takes(subject: Subject, grown: Grown | BudgetedRounds) -> bool:
    try:
        for forest in grown.forests:
            subject.method.check(forest, subject.order)
    except ValueError:
        return False
    return True
