"""The order in which siblings are tested: free as long as it uses nothing decided below them."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.couplings.base import blocks, siblings_of
from univer.laws import ratio
from univer.rules.base import Coupling, ForesightRule, Rule
from univer.topology import Group, Ints
from univer.tree import Forest, index, places_of

ORDERS = ("drawn", "sampled-first", "descending", "gain")
WIDEST_GAIN = 10


def check_gain(forest: Forest, rule: Rule) -> None:
    """Raise if the order `gain` does not suit a tree or a rule.

    Args:
        forest: the trees.
        rule: the one-step rule.

    Raises:
        ValueError: the tree's slots are not those planned, the rule knows no expected acceptance, or a node is too
            wide.
    """
    if not forest.planned or forest.excluded:
        raise ValueError(
            "the order 'gain' needs a tree whose slots are those planned before any token of the next level was drawn; "
            "this tree was grown otherwise or has dropped children: use 'drawn', 'sampled-first' or 'descending'"
        )
    if not isinstance(rule, ForesightRule):
        raise ValueError(f"the order 'gain' needs a rule with expected_acceptance; {type(rule).__name__} has none")
    widest = int(forest.topology.child_counts.max(initial=0))
    if widest > WIDEST_GAIN:
        raise ValueError(
            f"the order 'gain' tries all subsets of siblings: at most {WIDEST_GAIN} children, a node has {widest}"
        )


def sibling_order(
    order: str, forest: Forest, target_laws: Tensor, rule: Rule, group: Group, coupling: Coupling
) -> Tensor:
    """Positions of the children (as drawn) in the order in which they are tested.

    Args:
        order: one of `ORDERS`.
        forest: `M` nodes in all.
        target_laws: target distributions `[M, V]`.
        rule: the one-step rule.
        group: `n` nodes with `m` children each.
        coupling: the rule's answer for them.

    Returns:
        `[n, m]` int64, a permutation per row.
    """
    count = group.children.shape[1]
    positions = torch.arange(count, device=target_laws.device).expand(len(group.nodes), count)
    if order == "sampled-first":
        return positions.roll(-group.fixed, 1)
    if order == "descending":
        return coupling.children.sort(dim=-1, descending=True, stable=True).indices
    if order == "gain" and count > 1 and (forest.topology.child_counts[group.children] > 0).any():
        assert isinstance(rule, ForesightRule), "check_gain has checked the rule"
        return _gain_order(forest, target_laws, rule, group.children, coupling)
    return positions


def _gain_order(forest: Forest, target_laws: Tensor, rule: ForesightRule, children: Ints, coupling: Coupling) -> Tensor:
    """The permutation that maximises `sum_j w_j A(u_j, p(u_j) / w_j)`, by dynamic programming over subsets.

    `w_j` is what remains when the siblings tested before `u_j` have failed, and `A` the expected acceptance one level
    below (0 at a leaf). Of equal permutations the one nearest to the order drawn is taken. Exact for trees of depth 2,
    a heuristic for deeper ones.
    """
    gains = _gains(forest, target_laws, rule, children, coupling)
    rows, subsets, count = gains.shape
    best = gains.new_zeros(rows, subsets)
    members = [[subset >> child & 1 for child in range(count)] for subset in range(subsets)]
    for subset in range(subsets - 2, -1, -1):
        options = [
            gains[:, subset, child] + best[:, subset | 1 << child]
            for child in range(count)
            if not members[subset][child]
        ]
        best[:, subset] = torch.stack(options, -1).amax(-1)
    tested = torch.zeros(rows, dtype=torch.long, device=gains.device)
    row = torch.arange(rows, device=gains.device)
    order = []
    for _ in range(count):
        chosen = torch.full_like(tested, count)
        for child in reversed(range(count)):
            free = tested >> child & 1 == 0
            after = best[row, torch.where(free, tested | 1 << child, tested)]
            chosen = torch.where(free & (gains[row, tested, child] + after >= best[row, tested]), child, chosen)
        order.append(chosen)
        tested = tested | torch.ones_like(tested) << chosen
    return torch.stack(order, 1)


def _gains(forest: Forest, target_laws: Tensor, rule: ForesightRule, children: Ints, coupling: Coupling) -> Tensor:
    """`w A(u, p(u) / w)` for every child `u` and every subset of siblings tested before it, `[n, 2^m, m]`."""
    rows, count = children.shape
    kept, device = coupling.children, coupling.children.device
    subsets = torch.arange(1 << count, device=device)
    untested = (subsets[:, None] >> torch.arange(count, device=device) & 1 == 0).to(kept.dtype)
    remaining = kept @ untested.T + (coupling.residual + coupling.rejected)[:, None]
    gains = kept.new_zeros(rows, 1 << count, count)
    topology = forest.topology
    for child in range(count):
        nodes = children[:, child]
        before = [subset for subset in range(1 << count) if not subset >> child & 1]
        scales = ratio(kept[:, child : child + 1].expand(rows, len(before)), remaining[:, before])
        for group in topology.groups(nodes[topology.child_counts[nodes] > 0]):
            for block in blocks(group, target_laws):
                place = index(places_of(block.nodes, nodes), device)
                below = siblings_of(forest, target_laws, block, scales[place, 0])
                for column, subset in enumerate(before):
                    accepted = rule.expected_acceptance(below.scaled(scales[place, column]))
                    gains[place, subset, child] = remaining[place, subset] * accepted
    return gains
