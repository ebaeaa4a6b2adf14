"""Probability distributions as rows: from logits, normalisation, the zero-mass guards and sampling, all in one place.

A distribution is a row of a floating tensor `[..., V]` with non-negative entries that sum to 1. The same row serves the
draw, the test and the residual, so every function here keeps the precision it is given (float32 or float64) and none
changes its input.

The module is called `laws` after the arguments of the public calls, `draft_laws` and `target_laws`, which are rows of
this kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

DTYPES = (torch.float32, torch.float64)

# Entries of a row that are compared together in the search for its largest ones.
TOP_BLOCK = 64
# Entries of rows that are worked on together on a CPU.
CACHE_ENTRIES = 1 << 16


def distributions_from_logits(logits: Tensor, step: str = "the model") -> Tensor:
    """Turn processed logits into distributions, in float32 unless the logits are float64.

    Args:
        logits: `[..., V]`, any floating dtype; `-inf` marks a token of probability 0.
        step: what produced the logits, named in the error message.

    Returns:
        Distributions `[..., V]` in float32 (float64 for float64 logits).

    Raises:
        ValueError: a row has a NaN, a `+inf`, or is `-inf` everywhere.

    Example:
        >>> distributions_from_logits(torch.tensor([0.0, float("-inf")]))
        tensor([1., 0.])
    """
    rows = torch.softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=-1)
    # A NaN, a +inf and an all -inf row each turn the whole row into NaN, so one column is enough to check.
    if rows.numel() and bool(rows[..., 0].isnan().any()):
        row = int(rows[..., 0].reshape(-1).isnan().nonzero()[0])
        raise ValueError(f"{step}: row {row} of the logits has a NaN or +inf, or is -inf everywhere")
    return rows


def check_distributions(rows: Tensor, what: str) -> None:
    """Raise if a row is not a distribution: a negative entry, a NaN, or a sum further than 1e-4 from 1.

    One transfer from the device for all rows.

    Args:
        rows: `[n, V]`, float32 or float64.
        what: what the rows are, for the message.

    Raises:
        ValueError: with the number of the first such row.

    Example:
        >>> check_distributions(torch.tensor([[0.5, 0.5], [2.0, -1.0]]), "target_laws")
        Traceback (most recent call last):
        ...
        ValueError: target_laws: row 1 is not a distribution (non-negative, no NaN, summing to 1 within 1e-4)
    """
    sound = ((rows.sum(-1) - 1).abs() <= 1e-4) & (rows.amin(-1) >= 0)
    if not bool(sound.all()):
        row = int((~sound).nonzero()[0])
        raise ValueError(f"{what}: row {row} is not a distribution (non-negative, no NaN, summing to 1 within 1e-4)")


def normalise(weights: Tensor) -> Tensor:
    """Scale non-negative rows to sum 1; an all-zero row stays zero.

    Args:
        weights: `[..., V]`, non-negative.

    Returns:
        `norm(f) = f / sum f`, same shape and dtype.

    Example:
        >>> normalise(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
        tensor([[0.2500, 0.7500],
                [0.0000, 0.0000]])
    """
    return weights / positive(weights.sum(-1, keepdim=True))


def positive(denominator: Tensor) -> Tensor:
    """Replace zeros by ones, so that `0 / positive(0) = 0`.

    Args:
        denominator: non-negative tensor of any shape.

    Returns:
        A new tensor of the same shape and dtype.
    """
    return denominator.masked_fill(denominator <= 0, 1)


def ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """`numerator / denominator` clamped to [0, 1], and 0 where the denominator is 0.

    Args:
        numerator: non-negative tensor.
        denominator: non-negative tensor of the same shape.

    Returns:
        A tensor of the same shape with entries in [0, 1].
    """
    empty = denominator <= 0
    return (numerator / denominator.masked_fill(empty, 1)).clamp_(0, 1).masked_fill_(empty, 0)


def sample(rows: Tensor, uniforms: Tensor) -> Tensor:
    """Draw one token per row by inverting the distribution function.

    The drawn token is the first `x` with `sum_{y <= x} row(y) > u * sum(row)`, summed in float64: a token of
    probability zero is never drawn, and rows need not be normalised.

    Args:
        rows: non-negative rows `[n, V]` with positive sum.
        uniforms: `[n]`, float64, in [0, 1).

    Returns:
        Token ids `[n]`, int64.

    Raises:
        ValueError: a row has no mass, or a NaN.

    Example:
        >>> rows = torch.tensor([[0.5, 0.0, 0.5]]).expand(3, 3)
        >>> sample(rows, torch.tensor([0.0, 0.5, 0.999]))
        tensor([0, 2, 2])
    """
    tokens, alive = draw(rows, uniforms)
    if not bool(alive.all()):
        raise ValueError("cannot draw a token: a distribution has no mass or contains a NaN")
    return tokens


def draw(rows: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """As `sample`, for rows that may have no mass.

    Args:
        rows: non-negative rows `[n, V]`.
        uniforms: `[n]`, float64, in [0, 1).

    Returns:
        Token ids `[n]`, int64, and whether each row has mass `[n]`; without it its token means nothing.

    Example:
        >>> draw(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([0.5, 0.5]))[1]
        tensor([ True, False])
    """
    uniforms = uniforms.to(device=rows.device, dtype=torch.float64).unsqueeze(-1)
    parts = []
    for part, uniform in zip(cache_blocks(rows), cache_blocks(rows, uniforms), strict=True):
        cumulative = part.cumsum(-1, dtype=torch.float64)
        total = cumulative[:, -1:].contiguous()
        token = torch.searchsorted(cumulative, uniform * total, right=True)
        # u * total may round up to total itself; the last token with mass is the one meant.
        last = torch.searchsorted(cumulative, total, right=False)
        parts.append((torch.minimum(token, last).squeeze(-1), (total > 0).squeeze(-1)))
    tokens, alive = zip(*parts, strict=True)
    return torch.cat(tokens), torch.cat(alive)


def entropy(rows: Tensor) -> Tensor:
    """`-sum_x Q(x) log Q(x)` in nats.

    Args:
        rows: distributions `[n, V]`.

    Returns:
        `[n]`, in the dtype of the rows.

    Example:
        >>> entropy(torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]))
        tensor([0.6931, 0.0000])
    """
    tiny = torch.finfo(rows.dtype).tiny
    return torch.cat([0.0 - (part * (part + tiny).log_()).sum(-1) for part in cache_blocks(rows)]).clamp_(min=0)


def cache_blocks(rows: Tensor, other: Tensor | None = None) -> Sequence[Tensor]:
    """Cut rows into parts whose intermediate results stay in the cache of a CPU.

    Args:
        rows: `[n, V]`.
        other: `[n, ...]`, cut likewise in place of `rows`.

    Returns:
        Views of consecutive rows.
    """
    count = max(1, CACHE_ENTRIES // max(1, rows.shape[1])) if rows.device.type == "cpu" else max(1, len(rows))
    return torch.split(rows if other is None else other, count)


def top_tokens(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest entries of each row, in falling order, ties to the lowest id.

    Args:
        scores: `[n, V]`, non-negative.
        count: how many, at most V.

    Returns:
        Token ids `[n, count]` and their scores `[n, count]`. Entries of score 0 stand in any order.

    Example:
        >>> top_tokens(torch.tensor([[0.2, 0.4, 0.4]]), 2)[0]
        tensor([[1, 2]])
    """
    if count >= scores.shape[1] // TOP_BLOCK:
        best, tokens = scores.sort(stable=True, descending=True)
        return tokens[:, :count], best[:, :count]
    # topk promises no order among equal entries: those found are put in order of their ids first.
    tokens, places = _largest(scores, count + 1).sort(-1)
    best, places = scores.gather(1, tokens).sort(stable=True, descending=True)
    tokens, last = tokens.gather(1, places)[:, :count], best[:, count - 1]
    tied = ((best[:, count] == last) & (last > 0)).nonzero()[:, 0]
    if len(tied):
        tokens[tied] = _by_id(scores[tied], last[tied], count)
    return tokens, best[:, :count]


def _largest(scores: Tensor, count: int) -> Tensor:
    """Ids of `count` largest entries of each row, in any order and with any choice among equal ones."""
    # Interleaved blocks: the largest entries lie in those with the largest maxima, so a row is read once only.
    padded = functional.pad(scores, (0, -scores.shape[1] % TOP_BLOCK), value=-1.0)
    cut = padded.reshape(len(scores), TOP_BLOCK, -1)
    chosen = cut.amax(1).topk(count, -1).indices
    inside = cut.gather(2, chosen.unsqueeze(1).expand(-1, TOP_BLOCK, -1)).flatten(1)
    places = inside.topk(count, -1).indices
    return places // count * cut.shape[2] + chosen.gather(1, places % count)


def _by_id(scores: Tensor, last: Tensor, count: int) -> Tensor:
    """The `count` largest entries of rows with more than `count` of at least `last`, ties to the lowest id."""
    rows, tokens = (scores >= last[:, None]).nonzero(as_tuple=True)
    order = scores[rows, tokens].sort(stable=True, descending=True).indices
    order = order[rows[order].sort(stable=True).indices]
    first = torch.searchsorted(rows, torch.arange(len(scores), device=rows.device))
    return tokens[order[first[:, None] + torch.arange(count, device=rows.device)]]
