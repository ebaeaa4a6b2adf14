"""Which siblings may be tested before which, where an order depends on figures of which only intervals are known."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from univer.bench.bounds.enclosure import ForesightEnclosure, Outcomes
from univer.bench.bounds.ranges import Range
from univer.couplings.base import blocks, siblings_of
from univer.rules.base import Siblings
from univer.topology import Group, Ints
from univer.tree import Forest, index, places_of

# Figures this near to each other may change places by rounding in float64.
ROUNDING = 1e-10
# Entries of rows that are worked on together.
BLOCK_ENTRIES = 1 << 19


def may_precede(
    order: str, forest: Forest, laws: Tensor, enclosure: ForesightEnclosure, group: Group, outcomes: Outcomes
) -> Tensor:
    """Whether child `i` (as drawn) may be tested before child `j`.

    Args:
        order: sibling order.
        forest: the tree.
        laws: `[N, V]`.
        enclosure: of the rule.
        group: the nodes.
        outcomes: the rule's answers for them.

    Returns:
        `[n, m, m]` bool; of a pair whose order is certain one entry is True.
    """
    rows, count = group.children.shape
    place = torch.arange(count, device=laws.device)
    if order == "sampled-first":
        place = (place - group.fixed) % max(1, count)
    if order == "descending":
        kept = outcomes.children
        return kept.high[:, :, None] + ROUNDING >= kept.low[:, None, :]
    if order == "gain" and count > 1 and (forest.topology.child_counts[group.children] > 0).any():
        return _of_gain(_gains(forest, laws, enclosure, group.children, outcomes))
    return (place[:, None] < place[None, :]).expand(rows, count, count)


def _of_gain(gains: Range) -> Tensor:
    """Pairs that a best permutation may have.

    A step from a set of tested siblings to the next one is possible if the best permutation through it may reach what
    the best one reaches surely. Where nothing is left to gain the order drawn decides.

    Args:
        gains: what each child adds when it is tested after a set of siblings, `[n, 2^m, m]`.
    """
    sets = _Subsets(gains.low.shape[2], gains.low.device)
    after = Range(sets.best_after(gains.low), sets.best_after(gains.high))
    reached = sets.best_before(gains.high)[:, :, None] + gains.high + after.high[:, sets.following]
    possible = (reached + ROUNDING >= after.low[:, :1, None]) & ~sets.member
    possible &= (after.high[:, :, None] > 0) | sets.first_free
    return (sets.member.T.to(gains.low) @ possible.to(gains.low)) > 0


class _Subsets:
    """All sets of `m` siblings as bits of a number, with the dynamic programmes over them.

    Attributes:
        member: whether a set has a sibling, `[2^m, m]`.
        following: the set with one sibling more, `[2^m, m]`.
        first_free: whether a sibling is the first that is not in a set, `[2^m, m]`.
    """

    def __init__(self, count: int, device: torch.device) -> None:
        subsets, bits = torch.arange(1 << count, device=device), 1 << torch.arange(count, device=device)
        self.member = (subsets[:, None] & bits) > 0
        self.following = subsets[:, None] | bits
        self.first_free = ~self.member & ((~self.member).cumsum(1) == 1)
        self._before = subsets[:, None] & ~bits
        sizes = self.member.sum(1)
        self._levels = [(sizes == size).nonzero()[:, 0] for size in range(count + 1)]

    def best_after(self, gains: Tensor) -> Tensor:
        """The most that the siblings outside each set can add, `[n, 2^m]`, from steps `[n, 2^m, m]`."""
        best = torch.zeros_like(gains[:, :, 0])
        for level in reversed(self._levels[:-1]):
            steps = gains[:, level] + best[:, self.following[level]]
            best[:, level] = steps.masked_fill(self.member[level], -torch.inf).amax(-1)
        return best

    def best_before(self, gains: Tensor) -> Tensor:
        """The most that the siblings of each set can have added, `[n, 2^m]`."""
        best = torch.zeros_like(gains[:, :, 0])
        children = torch.arange(gains.shape[2], device=gains.device)
        for level in self._levels[1:]:
            earlier = self._before[level]
            steps = best[:, earlier] + gains[:, earlier, children]
            best[:, level] = steps.masked_fill(~self.member[level], -torch.inf).amax(-1)
        return best


def _gains(forest: Forest, laws: Tensor, enclosure: ForesightEnclosure, children: Ints, outcomes: Outcomes) -> Range:
    """`w A(u, p(u) / w)` for every child `u` and every set of siblings tested before it, `[n, 2^m, m]`."""
    rows, count = children.shape
    kept, topology = outcomes.children, forest.topology
    subsets = torch.arange(1 << count, device=laws.device)
    outside = (subsets[:, None] >> torch.arange(count, device=laws.device) & 1 == 0).to(laws)
    gains = Range(laws.new_zeros(rows, 1 << count, count), laws.new_zeros(rows, 1 << count, count))
    for child in range(count):
        nodes = children[:, child]
        earlier = subsets[subsets >> child & 1 == 0]
        others = outside[earlier].T.clone()
        others[child] = 0.0
        rest = outcomes.rest.column()
        behind = Range(kept.low @ others + rest.low, kept.high @ others + rest.high)
        own = Range(kept.low[:, child : child + 1], kept.high[:, child : child + 1])
        scale, remaining = own.share(behind), own + behind
        for group in topology.groups(nodes[topology.child_counts[nodes] > 0]):
            for block in blocks(group, laws):
                place = index(places_of(block.nodes, nodes), laws.device)
                below = siblings_of(forest, laws, block, laws.new_ones(len(place)))
                gain = remaining[place] * _at_scales(enclosure, below, scale[place])
                gains.low[place[:, None], earlier, child] = gain.low
                gains.high[place[:, None], earlier, child] = gain.high
    return gains


def _at_scales(enclosure: ForesightEnclosure, siblings: Siblings, scales: Range) -> Range:
    """Expected acceptance at many scales of the same nodes, `[n, k]`."""
    rows, count = scales.low.shape
    step = max(1, BLOCK_ENTRIES // (rows * siblings.target.shape[1]))
    low, high = [], []
    for start in range(0, count, step):
        part = Range(scales.low[:, start : start + step], scales.high[:, start : start + step])
        times = part.low.shape[1]
        repeated = replace(
            siblings,
            target=siblings.target.repeat_interleave(times, 0),
            draft=None if siblings.draft is None else siblings.draft.repeat_interleave(times, 0),
            tokens=siblings.tokens.repeat_interleave(times, 0),
        )
        found = enclosure.acceptance(repeated, Range(part.low.reshape(-1), part.high.reshape(-1)))
        low.append(found.low.reshape(rows, times))
        high.append(found.high.reshape(rows, times))
    return Range(torch.cat(low, 1), torch.cat(high, 1))
