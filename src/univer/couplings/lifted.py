"""Lifted coupling: prefix scales top-down, one test per node in post-order."""

from __future__ import annotations

import torch
from torch import Tensor

from univer.couplings.base import Allocation, blocks, check_masses, siblings_of
from univer.couplings.order import sibling_order
from univer.laws import ratio
from univer.rules.base import Rule
from univer.tree import Forest, index


class Lifted:
    """Couple a whole tree by running the rule at every node on the target scaled by the prefix.

    Allocation goes top-down: with `p` the rule's answer at scale `a_v`, `R` its residual mass, and the sum over the
    siblings tested before,

        a_u = p(u) / (1 - sum p(w))        r_v = R / (R + p(REJ))

    Verification goes through the tree in post-order with one uniform per node: a leaf is kept with probability `a_v`,
    an inner node with probability `r_v` once all its children have failed; the first that succeeds ends the path. The
    root never fails. Lossless for the whole tree whenever the rule is (UniVer, arXiv 2605.04543; block and traversal
    verification, arXiv 2403.10444 and 2505.12398, are this for two other rules).
    """

    name = "lifted"
    uses_order = True

    def allocate(self, forest: Forest, target_laws: Tensor, rule: Rule, order: str) -> Allocation:
        """Scales, acceptance probabilities and post-order of all nodes; see `TreeCoupling.allocate`."""
        topology, device = forest.topology, target_laws.device
        scale = target_laws.new_ones(len(forest))
        accept = scale.clone()
        sizes = index(topology.sizes, device)
        # First place in the post-order of a node's subtree; the trees of a forest stand one after the other.
        start = torch.zeros_like(sizes)
        start[index(topology.roots, device)] = index(topology.roots, device)
        masses: list[Tensor] = []
        for group in (group for level in topology.levels for group in level):
            for block in blocks(group, target_laws):
                nodes, children = index(block.nodes, device), index(block.children, device)
                coupling = rule.couple(siblings_of(forest, target_laws, block, scale[nodes]))
                places = sibling_order(order, forest, target_laws, rule, block, coupling)
                tested, kept = children.gather(1, places), coupling.children.gather(1, places)
                # 1 - sum p(w) as the sum of what remains: it cannot cancel.
                rest = coupling.residual + coupling.rejected
                remaining = kept.flip(1).cumsum(1).flip(1) + rest[:, None]
                masses.append(remaining)
                scale[tested] = ratio(kept, remaining)
                accept[tested] = scale[tested]
                whole = (rest == 0) & (scale[nodes] == 1)
                accept[nodes] = torch.where(whole, torch.ones_like(rest), ratio(coupling.residual, rest))
                below = sizes[tested]
                start[tested] = start[nodes][:, None] + below.cumsum(1) - below
        check_masses(masses)
        accept[index(topology.roots, device)] = 1.0
        return Allocation(scale, accept, start + sizes - 1)

    def end_distribution(self, forest: Forest, allocation: Allocation) -> Tensor:
        """Probability that the path ends at each node `[M]`: it succeeds and all before it in post-order fail."""
        tree, place, width = _places(forest, allocation)
        failures = allocation.accept.new_ones(int(tree[-1]) + 1, width + 1)
        failures[tree, place + 1] = 1 - allocation.accept
        return allocation.accept * failures.cumprod(1)[tree, place]

    def end_nodes(
        self, forest: Forest, target_laws: Tensor, rule: Rule, order: str, uniforms: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The first node in post-order whose test succeeds, per tree; see `TreeCoupling.end_nodes`."""
        allocation = self.allocate(forest, target_laws, rule, order)
        tree, place, width = _places(forest, allocation)
        passed = torch.zeros(int(tree[-1]) + 1, width, dtype=torch.int8, device=tree.device)
        passed[tree, place] = (uniforms < allocation.accept).to(torch.int8)
        nodes = torch.zeros_like(passed, dtype=torch.long)
        nodes[tree, place] = torch.arange(len(forest), device=tree.device)
        # torch.argmax returns the first of equal maxima.
        ends = nodes.gather(1, passed.argmax(1, keepdim=True))[:, 0]
        return ends, allocation.scale[ends]


def _places(forest: Forest, allocation: Allocation) -> tuple[Tensor, Tensor, int]:
    """Tree of every node, its place in that tree's post-order, and the size of the largest tree."""
    assert allocation.position is not None
    device = allocation.accept.device
    roots = index(forest.topology.roots, device)
    tree = index(forest.topology.trees, device)
    return tree, allocation.position - roots[tree], int(forest.topology.sizes[forest.topology.roots].max())
