"""Top-p filtering without sorting the vocabulary."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# The head of a row that is sorted; a nucleus that reaches its end is left to the full sort.
HEAD = 512
# A cut closer to top_p than the rounding of a float32 running sum is left to the full sort as well.
ROUNDING = 5e-6


def keep_nucleus(scores: Tensor, top_p: float) -> Tensor:
    """Remove every token outside the smallest set of most likely tokens with mass at least `top_p`.

    The sets are those of transformers' `TopPLogitsWarper`, but for equal scores where the set ends: the lowest ids are
    kept, while an unstable sort keeps any. Only the `HEAD` largest scores are sorted; a row whose nucleus is larger
    or is decided by rounding is sorted in full.

    Args:
        scores: `[n, V]`, float32 or float64; not modified.
        top_p: in (0, 1).

    Returns:
        Scores `[n, V]` with `-inf` outside the nucleus.

    Example:
        >>> keep_nucleus(torch.tensor([[0.3, 0.5, 0.2]]).log(), 0.6).exp()
        tensor([[0.3000, 0.5000, 0.0000]])
    """
    head = min(HEAD, scores.shape[-1])
    largest, ids = scores.topk(head, dim=-1)
    mass = scores.softmax(-1).gather(-1, ids).double()
    before = mass.cumsum(-1) - mass
    kept = before < top_p
    kept[:, 0] = True
    count = kept.sum(-1, keepdim=True)
    smallest = largest.gather(-1, count - 1)
    next_smallest = largest.gather(-1, count.clamp(max=head - 1))
    unsure = ((before[:, 1:] - top_p).abs() < ROUNDING).any(-1, keepdim=True)
    unsure |= (count == head) & (head < scores.shape[-1])
    # A NaN anywhere makes the running sum NaN; the row stays as it is, and the error comes where the distribution is
    # computed.
    sound = ~before[:, -1:].isnan()

    filtered = scores.masked_fill((scores < smallest) & sound, -math.inf)
    tied = ((count < head) & (next_smallest == smallest) & ~unsure & sound).nonzero()[:, 0]
    if len(tied):
        filtered[tied] = _without_surplus(filtered[tied], smallest[tied], count[tied])
    unsure_rows = (unsure & sound).nonzero()[:, 0]
    if len(unsure_rows):
        filtered[unsure_rows] = _sorted_in_full(scores[unsure_rows], top_p)
    return filtered


def _without_surplus(scores: Tensor, smallest: Tensor, count: Tensor) -> Tensor:
    """Of the equal scores at the end of a nucleus keep those of the lowest ids, as many as belong to it."""
    rows, ids = (scores == smallest).nonzero(as_tuple=True)
    wanted = count - (scores > smallest).sum(-1, keepdim=True)
    first = torch.searchsorted(rows, torch.arange(len(scores), device=rows.device))
    surplus = torch.arange(len(rows), device=rows.device) - first[rows] >= wanted[rows, 0]
    return scores.index_put((rows[surplus], ids[surplus]), scores.new_tensor(-math.inf))


def _sorted_in_full(scores: Tensor, top_p: float) -> Tensor:
    """Sort whole rows, with the running sums of `TopPLogitsWarper`."""
    # Reversed, a stable rising sort has the highest of equal ids first, and the first are removed.
    reversed_scores = scores.flip(-1)
    rising, order = reversed_scores.sort(dim=-1, stable=True)
    removed = rising.softmax(-1).cumsum(-1) <= 1 - top_p
    removed[:, -1] = False
    return scores.masked_fill(torch.zeros_like(removed).scatter_(-1, order, removed).flip(-1), -math.inf)
