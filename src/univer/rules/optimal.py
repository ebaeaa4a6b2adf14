"""Exact optimal transport at one node by linear programming, for small vocabularies."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product
from math import comb

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array
from torch import Tensor

from univer.rules.base import Coupling, Siblings

MOST_SETS = 20_000

Floats = NDArray[np.float64]


class OptimalTransport:
    """The coupling of drawn children and outcome that maximises the mean of `sum_u p(u)`.

    Over the sets `E` of children that can be drawn, with `D(E)` their probabilities, the programme is

        maximise  sum_E sum_{x in E} f(E, x)
        subject to  sum_x f(E, x) <= D(E),   sum_E f(E, x) <= T(x),   f >= 0

    and `p(x | E) = f(E, x) / D(E)`. What the flow leaves of the target, `T(x) - sum_E f(E, x)` and `REJ`, is the
    residual, the same for every set. Any feasible flow is lossless, so the solver's tolerance cannot bias the output:
    the flow is scaled down to feasibility before use. This is the optimal transport with membership cost (OTM) of
    SpecTr (Sun et al., arXiv 2310.15141, section 3). One programme of `|sets| m` variables per node, and at most 20 000
    sets.
    """

    draft_law = "swor"

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Any number of slots that was set before the first draw."""
        return True

    def check_vocabulary(self, size: int, law: str, sampled: int) -> None:
        """Raise if a node has too many sets of children; see `BoundedRule`.

        Raises:
            ValueError: with the limit.
        """
        _check_count(size, sampled, law == "iid")

    def couple(self, siblings: Siblings) -> Coupling:
        """Probabilities of the children in the order drawn, of the residual and of `REJ`."""
        children, left, shares = [], [], []
        for row, plan in enumerate(_plans(siblings)):
            tokens = siblings.tokens[row].tolist()
            chances = plan.kept[frozenset(tokens)]
            first = [token not in tokens[:position] for position, token in enumerate(tokens)]
            children.append([chances[token] if new else 0.0 for token, new in zip(tokens, first, strict=True)])
            left.append(1 - sum(children[-1]))
            total = plan.residual.sum() + plan.rejected
            shares.append(plan.residual.sum() / total if total > 0 else 1.0)
        spare = torch.tensor(left, dtype=torch.float64).clamp_(min=0)
        share = torch.tensor(shares, dtype=torch.float64)
        kept = torch.tensor(children, dtype=torch.float64).to(siblings.target)
        return Coupling(kept, (spare * share).to(kept), (spare * (1 - share)).to(kept))

    def residual(self, siblings: Siblings) -> Tensor:
        """`T(x) - sum_E f(E, x)`."""
        return torch.from_numpy(np.stack([plan.residual for plan in _plans(siblings)])).to(siblings.target)

    def expected_acceptance(self, siblings: Siblings) -> Tensor:
        """The value of the programme."""
        return torch.tensor([plan.value for plan in _plans(siblings)], dtype=torch.float64).to(siblings.target)


class _Plan:
    """A solved programme: `p(x | E)` by set, the residual on tokens, `REJ` and the value."""

    def __init__(
        self,
        target: Floats,
        rejected: float,
        draft: Floats | None,
        fixed: tuple[int, ...],
        sampled: int,
        replacement: bool,
    ) -> None:
        sets = _child_sets(draft, fixed, sampled, replacement)
        supply = np.array(list(sets.values()))
        members = [(row, token) for row, drawn in enumerate(sets) for token in sorted(drawn)]
        rows, tokens = np.array(members).T if members else np.zeros((2, 0), dtype=np.int64)
        size = len(members)
        constraints = coo_array(
            (np.ones(2 * size), (np.concatenate([rows, len(supply) + tokens]), np.tile(np.arange(size), 2))),
            shape=(len(supply) + len(target), size),
        )
        solution = linprog(
            -np.ones(size), A_ub=constraints.tocsr(), b_ub=np.concatenate([supply, target]), method="highs"
        )
        if solution.x is None:
            raise RuntimeError(f"the linear programme of the optimal rule was not solved: {solution.message}")
        flow = np.maximum(solution.x, 0.0)
        # The solver keeps its constraints to about 1e-9 only; a flow within them is lossless to the last bit.
        flow *= _shrink(target, _totals(tokens, flow, len(target)))[tokens]
        flow *= _shrink(supply, _totals(rows, flow, len(supply)))[rows]
        self.kept: dict[frozenset[int], dict[int, float]] = {drawn: {} for drawn in sets}
        drawn_sets = list(sets)
        for (row, token), amount in zip(members, flow, strict=True):
            self.kept[drawn_sets[row]][token] = float(amount / supply[row])
        self.residual: Floats = np.maximum(target - _totals(tokens, flow, len(target)), 0.0)
        self.rejected = rejected
        self.value = float(flow.sum())


def _check_count(tokens: int, sampled: int, replacement: bool) -> None:
    count = tokens**sampled if replacement else comb(tokens, sampled)
    if count > MOST_SETS:
        raise ValueError(
            "the methods 'optimal' and 'optimal-lifted' solve a linear programme over all sets of children; "
            f"{count} sets are too many (at most {MOST_SETS}): use a smaller vocabulary or fewer sampled children"
        )


def _totals(places: NDArray[np.int64], amounts: Floats, count: int) -> Floats:
    """Amounts summed by place `[count]`."""
    totals = np.zeros(count)
    np.add.at(totals, places, amounts)
    return totals


def _shrink(capacity: Floats, used: Floats) -> Floats:
    """Factors at most 1 that bring `used` down to `capacity`."""
    return np.minimum(1.0, capacity / np.where(used > 0, used, 1.0), where=used > 0, out=np.ones_like(used))


def _child_sets(
    draft: Floats | None, fixed: tuple[int, ...], sampled: int, replacement: bool
) -> dict[frozenset[int], float]:
    """Every set of child tokens that can be drawn, with its probability."""
    if draft is None or sampled == 0:
        return {frozenset(fixed): 1.0}
    support = np.nonzero(draft)[0].tolist()
    _check_count(len(support), sampled, replacement)
    sets: dict[frozenset[int], float] = {}
    for drawn in product(support, repeat=sampled) if replacement else permutations(support, sampled):
        chance = 1.0
        for place, token in enumerate(drawn):
            # A sum of what remains: one minus what was drawn cancels where the draft is nearly a point.
            left = 1.0 if replacement else sum(draft[other] for other in support if other not in drawn[:place])
            chance *= draft[token] / left
        key = frozenset(fixed) | frozenset(drawn)
        sets[key] = sets.get(key, 0.0) + chance
    return sets


@lru_cache(maxsize=200_000)
def _solve(
    target: bytes, scale: float, draft: bytes | None, fixed: tuple[int, ...], sampled: int, replacement: bool
) -> _Plan:
    row = np.frombuffer(target)
    row_of_draft = None if draft is None else np.frombuffer(draft) / np.frombuffer(draft).sum()
    return _Plan(scale * row / row.sum(), 1 - scale, row_of_draft, fixed, sampled, replacement)


def _plans(siblings: Siblings) -> list[_Plan]:
    targets = siblings.target.double().cpu().numpy()
    drafts = None if siblings.draft is None else siblings.draft.double().cpu().numpy()
    scales = siblings.scale.tolist()
    fixed = siblings.fixed_tokens.tolist()
    return [
        _solve(
            targets[row].tobytes(),
            scales[row],
            None if drafts is None else drafts[row].tobytes(),
            tuple(fixed[row]),
            siblings.sampled,
            siblings.law == "iid",
        )
        for row in range(len(scales))
    ]
