"""Top-p filtering without sorting the vocabulary."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# The head of a row that is sorted; a nucleus that reaches its end is left to the full sort.
HEAD = 512
# A cut closer to top_p than the rounding of a float32 running sum is left to the full sort as well.
ROUNDING = 1e-5


def keep_nucleus(scores: Tensor, top_p: float) -> Tensor:
    """Remove every token outside the smallest set of most likely tokens with mass at least `top_p`.

    The masks equal those of transformers' `TopPLogitsWarper`. Only the `HEAD` largest scores are sorted; a row whose
    nucleus is larger, ends in a tie, or is decided by rounding alone is sorted in full.

    Args:
        scores: `[n, V]`, float32 or float64; not modified.
        top_p: in (0, 1).

    Returns:
        Scores `[n, V]` with `-inf` outside the nucleus.

    Example:
        >>> keep_nucleus(torch.tensor([[0.5, 0.3, 0.2]]).log(), 0.6).exp()
        tensor([[0.5000, 0.3000, 0.0000]])
    """
    size = scores.shape[-1]
    head = min(HEAD, size)
    largest = scores.topk(head, dim=-1).values
    # Relative to the largest score: a log-sum in float32 is too coarse where scores are large.
    total = (scores - largest[:, :1]).exp().sum(-1, keepdim=True, dtype=torch.float64)
    mass = (largest.double() - largest[:, :1]).exp() / total
    before = mass.cumsum(-1) - mass
    kept = before < top_p
    kept[:, 0] = True
    count = kept.sum(-1, keepdim=True)
    smallest_kept = largest.gather(-1, count - 1)
    largest_removed = largest.gather(-1, count.clamp(max=head - 1))

    unsure = ((before[:, 1:] - top_p).abs() < ROUNDING).any(-1)
    unsure |= ((count == head) & (head < size)).squeeze(-1)
    unsure |= ((count < head) & (largest_removed == smallest_kept)).squeeze(-1)
    # A NaN anywhere makes the running sum NaN; the row stays as it is and is refused where the law is formed.
    sound = ~before[:, -1].isnan()
    filtered = scores.masked_fill((scores < smallest_kept) & sound[:, None], -math.inf)
    rows = (unsure & sound).nonzero().squeeze(-1)
    if len(rows):
        filtered[rows] = _keep_nucleus_sorted(scores[rows], top_p)
    return filtered


def _keep_nucleus_sorted(scores: Tensor, top_p: float) -> Tensor:
    """The same by sorting each row, in the operations and in the precision of `TopPLogitsWarper`."""
    rising, order = scores.sort(dim=-1)
    removed = rising.softmax(-1).cumsum(-1) <= 1 - top_p
    removed[:, -1] = False
    return scores.masked_fill(torch.zeros_like(removed).scatter_(-1, order, removed), -math.inf)
