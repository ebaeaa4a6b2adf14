"""Plausible wrong variants of couplings, of verification and of its inputs. Everything here is wrong on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from univer.audit.grids import Play, slices
from univer.couplings import Lifted
from univer.couplings.base import Allocation, siblings_of
from univer.laws import normalise, ratio
from univer.methods import Method
from univer.rules import Rule
from univer.topology import Group
from univer.tree import DraftTree, Forest, index, rows_of
from univer.verdict import Verdict, outcome_law, verify


class UndividedScale(Lifted):
    """The scale of a child is `p(u)`, not `p(u)` divided by what the siblings tested before it have left."""

    def allocate(self, forest: Forest, target_laws: Tensor, rule: Rule, order: str) -> Allocation:
        """Scales, acceptance probabilities and post-order of all nodes."""
        allocation = super().allocate(forest, target_laws, rule, order)
        scale, accept = torch.ones_like(allocation.scale), torch.ones_like(allocation.accept)
        for group in (group for level in forest.topology.levels for group in level):
            nodes, children = index(group.nodes, scale.device), index(group.children, scale.device)
            coupling = rule.couple(siblings_of(forest, target_laws, group, scale[nodes]))
            scale[children] = accept[children] = coupling.children
            accept[nodes] = ratio(coupling.residual, coupling.residual + coupling.rejected)
        accept[index(forest.topology.roots, scale.device)] = 1.0
        return replace(allocation, scale=scale, accept=accept)


class LessOrEqual(Lifted):
    """A test succeeds if `u <= a`."""

    def end_nodes(
        self, forest: Forest, target_laws: Tensor, rule: Rule, order: str, uniforms: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The first node in post-order whose test succeeds."""
        # The next smaller number is below a threshold just if the number itself is at most the threshold.
        below = torch.nextafter(uniforms, torch.full_like(uniforms, -1))
        return super().end_nodes(forest, target_laws, rule, order, below)


class WholeDraft(Forest):
    """The tokens of fixed children are not taken out of the distribution of the sampled child."""

    def sampling_distribution(self, group: Group) -> Tensor:
        """`Q` itself."""
        return normalise(rows_of(self.draft_laws, group.nodes, self.device))


def fixed_left_in(method: Method, forest: Forest, targets: Tensor) -> Tensor:
    """Outcome distribution of a method that takes `Q` for `S`."""
    whole = WholeDraft(forest.topology, forest.tokens, forest.draft_laws, forest.law, forest.excluded, forest.planned)
    return outcome_law(whole, targets, method)


def children_by_their_own_row(method: Method, forest: Forest, targets: Tensor) -> Tensor:
    """Outcome distribution of a method that tests children by their own target row instead of their parent's."""
    rows = np.arange(len(forest))
    inner = forest.topology.child_counts > 0
    rows[inner] = forest.topology.children[inner, 0]
    return outcome_law(forest, targets[torch.from_numpy(rows)], method)


def reuse_across_rounds(method: Method) -> Play:
    """The uniforms of the first round serve every round."""

    def play(rounds: Sequence[tuple[DraftTree, Tensor]], uniforms: Tensor) -> list[Verdict]:
        coins = uniforms[: len(rounds[0][0]) + 1]
        return [verify(tree, targets, method, uniforms=coins[: len(tree) + 1]) for tree, targets in rounds]

    return play


def reuse_for_token(method: Method) -> Play:
    """The uniform of the last node's test draws the token as well."""

    def play(rounds: Sequence[tuple[DraftTree, Tensor]], uniforms: Tensor) -> list[Verdict]:
        coins = [torch.cat([part[:-1], part[-2:-1]]) for part in slices(rounds, uniforms)]
        return [
            verify(tree, targets, method, uniforms=part) for (tree, targets), part in zip(rounds, coins, strict=True)
        ]

    return play
