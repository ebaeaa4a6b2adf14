"""Stepwise coupling: decide level by level, each node on the plain target."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from univer.couplings.base import Allocation, blocks, check_masses, siblings_of
from univer.laws import ratio
from univer.rules.base import Coupling, Rule
from univer.tree import DraftTree, Forest, index


class Stepwise:
    """Couple a tree by deciding at one node at a time, from the root down.

    At every node of the kept path the rule runs at scale 1. Its children are tested in the order drawn: `u` is followed
    with probability `p(u) / (1 - sum p(w))` over the siblings `w` before it; if all fail, the path ends and the next
    token comes from the rule's residual. The sibling order does not matter here and is ignored.
    """

    name = "stepwise"
    uses_order = False

    def allocate(self, forest: Forest, target_laws: Tensor, rule: Rule, order: str) -> Allocation:
        """Probabilities of following each node when it is tested.

        Args:
            forest: the trees.
            target_laws: `[M, V]`.
            rule: the one-step rule.
            order: ignored.
        """
        scale = target_laws.new_ones(len(forest))
        accept = scale.clone()
        masses: list[Tensor] = []
        for group in (group for level in forest.topology.levels for group in level):
            for block in blocks(group, target_laws):
                ones = scale[index(block.nodes, scale.device)]
                coupling = rule.couple(siblings_of(forest, target_laws, block, ones))
                remaining = _remaining(coupling)
                masses.append(remaining)
                accept[index(block.children, scale.device)] = ratio(coupling.children, remaining)
        check_masses(masses)
        return Allocation(scale, accept)

    def end_law(self, forest: Forest, allocation: Allocation) -> Tensor:
        """Probability that the path ends at each node: it is reached and none of its children is followed."""
        device = allocation.accept.device
        reached = torch.ones_like(allocation.accept)
        end = reached.clone()
        for group in (group for level in forest.topology.levels for group in level):
            nodes, children = index(group.nodes, device), index(group.children, device)
            accept = allocation.accept[children]
            failed = (1 - accept).cumprod(1)
            before = torch.cat([torch.ones_like(failed[:, :1]), failed[:, :-1]], 1)
            reached[children] = reached[nodes][:, None] * accept * before
            end[nodes] = failed[:, -1]
        return end * reached

    def end_nodes(self, forest: Forest, allocation: Allocation, uniforms: Tensor) -> Tensor:
        """The node at which the walk down from each root stops."""
        device = allocation.accept.device
        passed = uniforms < allocation.accept
        reached = torch.ones_like(passed)
        stops = reached.clone()
        for group in (group for level in forest.topology.levels for group in level):
            nodes, children = index(group.nodes, device), index(group.children, device)
            first = passed[children] & (passed[children].cumsum(1) == 1)
            reached[children] = reached[nodes][:, None] & first
            stops[nodes] = ~first.any(1)
        # Exactly one node per tree is reached and stops, and trees stand one after the other.
        return (reached & stops).nonzero()[:, 0]

    def walk(
        self, tree: DraftTree, target_laws: Tensor, rule: Rule, order: str, uniforms: list[float]
    ) -> tuple[int, Tensor]:
        """Go down one tree, asking the rule only on the kept path."""
        one = target_laws.new_ones(1)
        children = tree.children
        node = 0
        while children[node]:
            (group,) = tree.topology.groups(np.array([node]))
            coupling = rule.couple(siblings_of(tree, target_laws, group, one))
            remaining = _remaining(coupling)
            check_masses([remaining])
            accept = ratio(coupling.children, remaining)[0].tolist()
            passed = [child for child, chance in zip(children[node], accept, strict=True) if uniforms[child] < chance]
            if not passed:
                break
            node = passed[0]
        return node, one


def _remaining(coupling: Coupling) -> Tensor:
    """What is left of the mass when the children drawn before each one have failed, itself included, `[n, m]`.

    `1 - sum p(w)` as the sum of what remains: it cannot cancel.
    """
    return coupling.children.flip(1).cumsum(1).flip(1) + (coupling.residual + coupling.refused)[:, None]
