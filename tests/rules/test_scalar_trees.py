"""Outcome laws of whole trees against a reference in plain arithmetic, node by node and recursive."""

import pytest
import torch

import univer
from univer.audit.cases import family_cases
from univer.audit.enumeration import first_round

REFUSED = -1


def one_step(scale: float, target: list[float], draft: list[float], fixed: list[int], sampled: list[int]):  # type: ignore[no-untyped-def]
    """`p` of the fixed and then of the sampled children, and what every other outcome gets."""
    left_target = {token: scale * p for token, p in enumerate(target)} | {REFUSED: 1 - scale}
    weights = [0.0 if token in fixed else q for token, q in enumerate(draft)]
    left, kept = 1.0, []
    for token in sampled:
        total = sum(weights)
        law = {x: weights[x] / total if x != REFUSED else 0.0 for x in left_target}
        excess = {x: max(mass - law[x], 0.0) for x, mass in left_target.items()}
        rest = sum(excess.values())
        accept = min(1.0, left_target[token] / law[token]) if rest > 0 else 1.0
        kept.append(left * accept)
        left *= 1 - accept
        left_target = {x: mass / rest for x, mass in excess.items()} if rest > 0 else excess
        weights[token] = 0.0
    others = {x: left * mass for x, mass in left_target.items()}
    return [others.pop(token) for token in fixed] + kept, others


def reference(tree: univer.DraftTree, targets: torch.Tensor, lifted: bool) -> list[list[float]]:
    """Outcome law of fixed children and recursive rejection, stepwise or lifted."""
    rows, law = targets.tolist(), [[0.0] * targets.shape[1] for _ in range(len(tree))]

    def visit(node: int, scale: float, reached: float) -> float:
        """Put down what ends in this subtree, which is entered with probability `reached`; return what leaves it."""
        children = tree.children[node]
        if not children:
            for token, p in enumerate(rows[node]):
                law[node][token] += reached * scale * p
            return reached * (1 - scale)
        tokens = [int(tree.tokens[child]) for child in children]
        count = sum(tree.slots[child] == "fixed" for child in children)
        draft = tree.draft_laws[node].tolist()
        kept, others = one_step(scale if lifted else 1.0, rows[node], draft, tokens[:count], tokens[count:])
        for place, child in enumerate(children):
            here = sum(kept[place:]) + sum(others.values())
            share = kept[place] / here if here > 0 else 0.0
            if lifted:
                reached = visit(child, share, reached)
            else:
                visit(child, 1.0, reached * share)
                reached *= 1 - share
        rest = sum(others.values())
        for token, mass in others.items():
            if token != REFUSED and rest > 0:
                law[node][token] += reached * mass / rest
        return reached * others[REFUSED] / rest if rest > 0 else 0.0

    visit(0, 1.0, 1.0)
    return law


@pytest.mark.parametrize(
    ("family", "stepwise", "lifted"),
    [
        ("swor", "rrsw", "traversal"),
        ("greedy", "greedy", "univer"),
        ("chain", "token", "block"),
        ("mixed", "mixed", "univer-mixed"),
    ],
)
def test_outcome_laws_equal_plain_arithmetic(family: str, stepwise: str, lifted: str) -> None:
    for case in family_cases(family, 9, seed=11):
        model = case.model()
        for drafted in first_round(case, model):
            for number in range(0, len(drafted.chances), max(1, len(drafted.chances) // 4)):
                tree, targets, _ = drafted.tree(number, model)
                for name, is_lifted in ((stepwise, False), (lifted, True)):
                    expected = torch.tensor(reference(tree, targets, is_lifted), dtype=torch.float64)
                    found = univer.outcome_law(tree, targets, name)
                    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9, msg=f"{name} on {case.name}")
