"""The tree policies of the package under the audit: every tree they can draw, under every method that takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from univer.audit.flaws import worst
from univer.audit.growth import Grown
from univer.audit.models import make_model
from univer.audit.product_growth import product_trees
from univer.audit.report import PolicyRow
from univer.audit.subject import Subject
from univer.drafting.growth.parse import parse_tree
from univer.rules.base import BoundedRule

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
# A rule that solves a programme at every node gets trees of at most so many nodes in all.
MOST_PROGRAMMES = 300


def policy_rows(
    subjects: Sequence[Subject], seed: int, quick: bool, tell: Callable[[str, int, int], None]
) -> list[PolicyRow]:
    """One row per policy and draft law that some method takes.

    Args:
        subjects: methods with their sibling orders; each sees the trees that it takes.
        seed: of the models.
        quick: fewer kinds of models.
        tell: told what is being done.
    """
    rows = []
    for done, (text, law, vocabulary) in enumerate(POLICIES):
        kinds = KINDS[:2] if quick else KINDS
        forests = [_forest(text, law, vocabulary, kind, seed) for kind in kinds]
        names, errors = set(), []
        for subject in subjects:
            taken = [grown for grown in forests if _takes(subject, grown)]
            errors += [grown.measure(subject.outcome).error for grown in taken if subject.method.exact]
            names |= {subject.method.name for _ in taken if subject.method.exact}
        trees = sum(len(grown.forest.topology.roots) for grown in forests)
        if errors:
            rows.append(PolicyRow(text, law, trees, len(names), len(errors), worst(errors)))
        tell("tree policies", done + 1, len(POLICIES))
    return rows


@cache
def _forest(text: str, law: str, vocabulary: int, kind: str, seed: int) -> Grown:
    policy = parse_tree(text)
    model = make_model(kind, vocabulary, policy.max_depth + 1, seed)
    grower = policy.start(law, greedy=False)
    return Grown(model, product_trees(grower, model, policy.max_depth), policy.max_depth)


def _takes(subject: Subject, grown: Grown) -> bool:
    if isinstance(subject.method.rule, BoundedRule) and len(grown.forest) > MOST_PROGRAMMES:
        return False
    try:
        subject.method.check(grown.forest, subject.order)
    except ValueError:
        return False
    return True
