"""A drafted tree with its rows cut down to the tokens that matter, and the same tree in the shape that rules take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from univer.bench.bounds import BUCKET
from univer.topology import SAMPLED, SLOT_NAMES
from univer.tree import DraftTree, index, rows_of


@dataclass(frozen=True)
class PackedTree:
    """A drafted tree of `N` nodes with sparse rows of its inner nodes; the leaves' rows bear on no kept path.

    Attributes:
        law: draft law.
        planned: whether the sibling order `gain` may be used.
        tokens: `[N]` int32.
        parents: `[N]` int32, -1 for the root.
        slots: `[N]` uint8, as in `topology.SLOT_NAMES`.
        counts: `[N]` int32, how many tokens each row keeps; 0 at leaves.
        kept: their ids, row after row, rising within a row, `[E]` int32.
        target: their `P_v`, `[E]` float32.
        draft: their `Q_v`, of rows with a sampled child only, `[F]` float32.
        target_rest: `[N]` float64, what `P_v` has on all other tokens; 1 at leaves.
        draft_rest: `[N]` float64, what `Q_v` has on them; 0 where no child is sampled.
        dropped: `[D, 2]` int32, nodes with tokens that are excluded from their draft law.
    """

    law: str
    planned: bool
    tokens: Tensor
    parents: Tensor
    slots: Tensor
    counts: Tensor
    kept: Tensor
    target: Tensor
    draft: Tensor
    target_rest: Tensor
    draft_rest: Tensor
    dropped: Tensor

    @property
    def whole(self) -> bool:
        """Whether no row lacks anything."""
        inner = self.counts > 0
        return not bool((self.target_rest[inner] > 0).any() or (self.draft_rest > 0).any())


def pack(tree: DraftTree, laws: Tensor, tail: float) -> PackedTree:
    """Cut the rows of a tree down.

    Of every row the largest entries stay, until all but `tail` of `P_v` and all but `tail` of the sampling law `S_v`
    are kept, on the union of both; and the tokens of fixed, sampled and dropped children.

    Args:
        tree: the tree.
        laws: `P_v` of every node `[N, V]`, float32.
        tail: mass that each row may lack; 0 to keep all that is not zero.
    """
    topology, device = tree.topology, laws.device
    children = np.nonzero(topology.parents >= 0)[0]
    inner = np.nonzero(topology.child_counts > 0)[0]
    sampled = np.unique(topology.parents[topology.slots == SAMPLED])
    place = np.full(len(tree), -1)
    place[inner] = np.arange(len(inner))
    target = laws[index(inner, device)]
    draft = torch.zeros_like(target)
    weights = torch.zeros_like(target)
    if len(sampled):
        draft[index(place[sampled], device)] = rows_of(tree.draft_laws, sampled, device).to(draft)
        for group in (group for level in topology.levels for group in level if group.sampled):
            weights[index(place[group.nodes], device)] = tree.sampling_distribution(group).to(weights)
    mask = _largest(target, tail) | _largest(weights, tail)
    mask[index(place[topology.parents[children]], device), tree.tokens[index(children, device)].to(device)] = True
    dropped = [(node, token) for node, tokens in tree.excluded.items() for token in tokens]
    for node, token in dropped:
        mask[place[node], token] = True
    rows, kept = mask.nonzero(as_tuple=True)
    of_draft = torch.from_numpy(np.isin(inner, sampled)).to(device)
    counts = torch.zeros(len(tree), dtype=torch.int32)
    counts[inner] = mask.sum(1).to("cpu", torch.int32)
    target_rest, draft_rest = torch.ones(len(tree), dtype=torch.float64), torch.zeros(len(tree), dtype=torch.float64)
    target_rest[inner] = target.masked_fill(mask, 0.0).sum(1, dtype=torch.float64).cpu()
    draft_rest[inner] = draft.masked_fill(mask, 0.0).sum(1, dtype=torch.float64).cpu()
    return PackedTree(
        tree.law,
        tree.planned,
        tree.tokens.to("cpu", torch.int32),
        torch.from_numpy(topology.parents).to(torch.int32),
        torch.from_numpy(topology.slots).to(torch.uint8),
        counts,
        kept.to("cpu", torch.int32),
        target[rows, kept].cpu(),
        draft[rows, kept][of_draft[rows]].cpu(),
        target_rest,
        draft_rest,
        torch.tensor(dropped, dtype=torch.int32).reshape(-1, 2),
    )


def unpack(packed: PackedTree) -> tuple[DraftTree, Tensor]:
    """The tree in a small vocabulary: token `BUCKET` for all that was merged, then the kept tokens of the node's row.

    A token is only ever looked up in the row of its parent, so every row has a numbering of its own.

    Args:
        packed: the tree.

    Returns:
        The tree and `P_v` `[N, W]` in float64, with `W` one more than the longest row.

    Raises:
        ValueError: the arrays do not form such a tree.
    """
    count, width = len(packed.tokens), 1 + int(packed.counts.max())
    ends = packed.counts.long().cumsum(0)
    starts = (ends - packed.counts).tolist()
    laws = torch.zeros(count, width, dtype=torch.float64)
    laws[:, BUCKET] = packed.target_rest
    ids = [packed.kept[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]
    sampled = set(packed.parents[packed.slots == SAMPLED].tolist())
    rows, first = {}, 0
    for node in packed.counts.nonzero()[:, 0].tolist():
        length = len(ids[node])
        laws[node, 1 : length + 1] = packed.target[starts[node] : starts[node] + length]
        if node in sampled:
            row = rows[node] = torch.zeros(width, dtype=torch.float64)
            row[BUCKET] = packed.draft_rest[node]
            row[1 : length + 1] = packed.draft[first : first + length]
            first += length
    tokens = [BUCKET]
    for token, parent in zip(packed.tokens[1:].tolist(), packed.parents[1:].tolist(), strict=True):
        tokens.append(_place(ids[parent], token))
    excluded: dict[int, list[int]] = {}
    for node, token in packed.dropped.tolist():
        excluded.setdefault(node, []).append(_place(ids[node], token))
    slots = [SLOT_NAMES[slot] for slot in packed.slots.tolist()]
    parents = packed.parents.tolist()
    return DraftTree(tokens, parents, slots, rows, packed.law, excluded, planned=packed.planned), laws


def _place(kept: Tensor, token: int) -> int:
    """Number of a token in its row."""
    place = int(torch.searchsorted(kept, token))
    if place == len(kept) or int(kept[place]) != token:
        raise ValueError(f"the row of a node lacks the token {token} of its own child")
    return place + 1


def _largest(rows: Tensor, tail: float) -> Tensor:
    """The largest entries of each row, without the smallest ones whose sum is at most `tail`; no zeros."""
    if tail == 0:
        return rows > 0
    smallest, places = rows.sort(stable=True)
    dropped = smallest.cumsum(-1, dtype=torch.float64) <= tail
    return ~torch.zeros_like(rows, dtype=torch.bool).scatter(1, places, dropped)
