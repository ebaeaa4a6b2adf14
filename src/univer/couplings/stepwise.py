"""Stepwise coupling: verify level by level, each node on the plain target."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from univer.couplings.base import Allocation, blocks, check_masses, siblings_of
from univer.laws import ratio
from univer.rules.base import Rule
from univer.topology import Group
from univer.tree import Forest, index


class Stepwise:
    """Couple a tree by verifying one node at a time, from the root down.

    At every node of the kept path the rule runs at scale 1. Its children are tested in the order drawn: `u` is followed
    with probability `p(u) / (1 - sum p(w))` over the siblings `w` before it; if all fail, the path ends and the next
    token comes from the rule's residual. The sibling order does not matter here and is ignored.
    """

    name = "stepwise"
    uses_order = False

    def allocate(self, forest: Forest, target_laws: Tensor, rule: Rule, order: str) -> Allocation:
        """Probability of following each node when it is tested; see `TreeCoupling.allocate`."""
        scale = target_laws.new_ones(len(forest))
        accept = scale.clone()
        masses: list[Tensor] = []
        for group in (group for level in forest.topology.levels for group in level):
            for block in blocks(group, target_laws):
                followed, remaining = _follow(forest, target_laws, rule, block)
                masses.append(remaining)
                accept[index(block.children, scale.device)] = followed
        check_masses(masses)
        return Allocation(scale, accept)

    def end_distribution(self, forest: Forest, allocation: Allocation) -> Tensor:
        """Probability that the path ends at each node `[M]`: it is reached and none of its children is followed."""
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

    def end_nodes(
        self, forest: Forest, target_laws: Tensor, rule: Rule, order: str, uniforms: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The node at which the way down from each root stops; see `TreeCoupling.end_nodes`.

        The rule is asked only at the nodes that are reached.
        """
        topology, device = forest.topology, target_laws.device
        ends = topology.roots.copy()
        reached = ends[topology.child_counts[ends] > 0]
        while len(reached):
            kept = []
            for group in topology.groups(reached):
                for block in blocks(group, target_laws):
                    followed, remaining = _follow(forest, target_laws, rule, block)
                    check_masses([remaining])
                    passed = (uniforms[index(block.children, device)] < followed).cpu().numpy()
                    kept.append(block.children[np.arange(len(passed)), passed.argmax(1)][passed.any(1)])
            nodes = np.concatenate(kept)
            ends[topology.trees[nodes]] = nodes
            reached = nodes[topology.child_counts[nodes] > 0]
        return index(ends, device), target_laws.new_ones(len(ends))


def _follow(forest: Forest, target_laws: Tensor, rule: Rule, group: Group) -> tuple[Tensor, Tensor]:
    """Probability of following each child when it is tested, and the mass left before its test, both `[n, m]`."""
    coupling = rule.couple(siblings_of(forest, target_laws, group, target_laws.new_ones(len(group.nodes))))
    # 1 - sum p(w) as the sum of what remains: it cannot cancel.
    remaining = coupling.children.flip(1).cumsum(1).flip(1) + (coupling.residual + coupling.rejected)[:, None]
    return ratio(coupling.children, remaining), remaining
