"""The acceptance length of a tree as an interval, by both couplings."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from univer.bench.bounds.enclosure import Enclosure, ForesightEnclosure, Outcomes
from univer.bench.bounds.known import enclosure_of
from univer.bench.bounds.orders import may_precede
from univer.bench.bounds.ranges import Range
from univer.couplings.base import siblings_of
from univer.methods import Method
from univer.topology import Group
from univer.tree import DraftTree, index

# What float64 may lose on the way, far above its rounding.
SPARE = 1e-9


def tau_range(tree: DraftTree, laws: Tensor, method: Method, order: str) -> tuple[float, float]:
    """Between which ends tau of a drafted tree lies, however the bucket's mass is divided among the tokens in it.

    Args:
        tree: the tree; token `BUCKET` of its draft laws stands for the merged tokens.
        laws: `P_v` with the same token merged, `[N, V]`, float64.
        method: the method.
        order: sibling order.

    Returns:
        The lower and the upper end; the tau of the merged rows lies between them as well.

    Raises:
        ValueError: no enclosure is known for the method.
    """
    enclosure = enclosure_of(method)
    bound = _lifted if method.coupling.name == "lifted" else _stepwise
    found = bound(tree, laws, enclosure, order)
    return 1 + max(0.0, float(found.low[0]) - SPARE), 1 + min(max(tree.depths), float(found.high[0]) + SPARE)


def _stepwise(tree: DraftTree, laws: Tensor, enclosure: Enclosure, order: str) -> Range:
    """Mean depth: `D_v = sum_u p(u) (1 + D_u)`, for the tests in turn follow a child with its `p(u)`."""
    below = _zeros(laws, len(tree))
    for level in reversed(tree.topology.levels):
        for group in level:
            ones = laws.new_ones(len(group.nodes))
            outcomes = enclosure.couple(siblings_of(tree, laws, group, ones), Range.exactly(ones))
            followed = outcomes.children.share(outcomes.children.others() + outcomes.rest.column())
            children = index(group.children, laws.device)
            below.put(group.nodes, (followed * (Range.exactly(torch.ones_like(children)) + below[children])).sum())
    return below


def _lifted(tree: DraftTree, laws: Tensor, enclosure: Enclosure, order: str) -> Range:
    """Mean depth below every node, from the scales top-down and the failures of the subtrees bottom-up.

    With `W_u` the product of the `f` of the siblings tested before `u`, a subtree fails as a whole with
    `f_v = (1 - r_v) prod_u f_u` and adds `D_v = sum_u W_u (D_u + 1 - f_u)` when its test is reached.
    """
    scale, accept = Range(laws.new_ones(len(tree)), laws.new_ones(len(tree))), _zeros(laws, len(tree))
    steps: list[tuple[Group, Tensor]] = []
    for group in (group for level in tree.topology.levels for group in level):
        nodes = index(group.nodes, laws.device)
        outcomes = enclosure.couple(siblings_of(tree, laws, group, laws.new_ones(len(nodes))), scale[nodes])
        before = may_precede(order, tree, laws, cast(ForesightEnclosure, enclosure), group, outcomes)
        scale.put(group.children, outcomes.children.share(_tested_after(outcomes, before)))
        accept.put(group.nodes, _own_test(outcomes, scale[nodes]))
        steps.append((group, before))
    fails, below = scale.complement(), _zeros(laws, len(tree))
    for group, before in reversed(steps):
        nodes, children = index(group.nodes, laws.device), index(group.children, laws.device)
        failed = fails[children]
        reached = _all_before(failed, before)
        below.put(group.nodes, (reached * (below[children] + failed.complement())).sum())
        every = Range(failed.low.prod(-1), failed.high.prod(-1))
        fails.put(group.nodes, every * accept[nodes].complement())
    return below


def _zeros(laws: Tensor, count: int) -> Range:
    return Range(laws.new_zeros(count), laws.new_zeros(count))


def _tested_after(outcomes: Outcomes, before: Tensor) -> Range:
    """What remains of the mass beside each child when it is tested, `[n, m]`: the siblings after it and the rest.

    A sibling counts as being after it for the lower end if it is surely, for the upper end if it may be.
    """
    kept, rest = outcomes.children, outcomes.rest
    others = ~torch.eye(before.shape[1], dtype=torch.bool, device=before.device)
    surely = others & ~before.transpose(1, 2)
    return Range(
        (kept.low[:, None, :] * surely).sum(-1) + rest.low[:, None],
        (kept.high[:, None, :] * (others & before)).sum(-1) + rest.high[:, None],
    )


def _all_before(failed: Range, before: Tensor) -> Range:
    """The chance that all siblings tested before each child have failed, `[n, m]`."""
    others = ~torch.eye(before.shape[1], dtype=torch.bool, device=before.device)
    surely = others & ~before.transpose(1, 2)  # [n, earlier, child]
    low = failed.low[:, :, None].where(others & before, 1.0).prod(1)
    return Range(low, failed.high[:, :, None].where(surely, 1.0).prod(1))


def _own_test(outcomes: Outcomes, scale: Range) -> Range:
    """`r = R / (R + p(REJ))`; where nothing but the children is left it is 1 at the scale 1 and 0 elsewhere."""
    own = outcomes.residual.share(outcomes.refused)
    nothing_may, nothing_must = outcomes.rest.low <= 0, outcomes.rest.high <= 0
    return Range(
        torch.where(nothing_must & (scale.low >= 1), torch.ones_like(own.low), own.low),
        torch.where(nothing_may & (scale.high >= 1), torch.ones_like(own.high), own.high),
    )
