"""The head's loss over several drafting steps, at all positions of a text at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from univer.drafting.eagle.head import EagleHead
from univer.training.divergence import TargetRows, divergence


def send(values: Tensor, device: torch.device) -> Tensor:
    """Copy from the CPU to a device, asynchronously to a CUDA device."""
    if device.type == "cuda":
        return values.pin_memory().to(device, non_blocking=True)
    return values.to(device)


@dataclass(frozen=True)
class UnrolledStep:
    """The figures of one drafting step, over all positions that count.

    Attributes:
        loss: mean over the positions, a scalar: Kullback-Leibler divergence in nats from the target's distribution on
            the draft vocabulary, renormalised, to the head's.
        overlap: mean of `sum_x min(P(x), Q(x))` over the whole vocabulary, a scalar without gradient: the probability
            that a chain's token is accepted at this step, given that it is reached.
        agreement: share of positions where both have the same most probable token of the draft vocabulary.
        count: number of positions.
    """

    loss: Tensor
    overlap: Tensor
    agreement: Tensor
    count: int


class UnrolledAttention:
    """Attention of drafting step `s`: to the keys of step 0 up to the row's position, and to its chain's later keys.

    Row `t` of step 0 stands for the committed text up to token `t + 1`. In step `s` it stands for the same text with
    `s` drafted tokens behind it, which see the text's keys (rows up to `t` of step 0) and one key of each later step.
    """

    def __init__(self) -> None:
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """The attention of the next drafting step.

        Args:
            queries: `[b, heads, n, d]`.
            keys: `[b, kv_heads, n, d]`.
            values: likewise.

        Returns:
            `[b, heads, n, d]`.
        """
        groups = queries.shape[1] // keys.shape[1]
        keys, values = (states.repeat_interleave(groups, 1) for states in (keys, values))
        self._keys.append(keys)
        self._values.append(values)
        if len(self._keys) == 1:
            return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        count, scale = queries.shape[2], queries.shape[3] ** -0.5
        future = torch.ones(count, count, dtype=torch.bool, device=queries.device).triu(1)
        text = (queries @ self._keys[0].transpose(-1, -2)).float().mul(scale).masked_fill(future, float("-inf"))
        chain = torch.stack([(queries * later).sum(-1).float().mul(scale) for later in self._keys[1:]], -1)
        weights = torch.softmax(torch.cat([text, chain], -1), -1).to(values.dtype)
        mixed = weights[..., :count] @ self._values[0]
        for step, later in enumerate(self._values[1:]):
            mixed = mixed + weights[..., count + step, None] * later
        return mixed


def drafted(head: EagleHead, table: Tensor, tokens: Tensor, features: Tensor, steps: int) -> Iterator[Tensor]:
    """Run several drafting steps of a head from every position, where the drafted tokens are those of the text.

    This is the training-time test of EAGLE-3 (Li et al., arXiv 2503.01840, section 3.2).

    Args:
        head: the head.
        table: the target's embeddings `[V, H]`.
        tokens: `[b, L]`, int64.
        features: `[b, L, k H]`, the target's hidden states.
        steps: number of drafting steps.

    Yields:
        For every step `s` the head's output `[b, L - 1, H]`: row `t` has read tokens up to `t + 1 + s`.
    """
    count = tokens.shape[1] - 1
    rows = torch.arange(count, device=tokens.device)
    # The residual stream stays in float32, under autocast too.
    wide = torch.promote_types(features.dtype, torch.float32)
    hidden = head.fuse(features[:, :-1].to(wide)).to(wide)
    attend = UnrolledAttention()
    for step in range(steps):
        read = (rows + 1 + step).clamp_max(count)
        hidden = head.block(head.embed(tokens[:, read], table).to(wide), hidden, attend, (rows + step)[None])
        yield hidden


def unroll(
    head: EagleHead,
    table: Tensor,
    tokens: Tensor,
    lengths: Tensor,
    starts: Tensor,
    features: Tensor,
    target: Tensor,
    steps: int,
    output: Tensor | None = None,
) -> list[UnrolledStep]:
    """Losses and acceptance of several drafting steps.

    Step `s` from row `t` counts where the text has a target distribution for it, `t + 1 + s` below the length, and
    where drafting can start, that is, where the tokens up to `t + 1` hold the whole prompt.

    Args:
        head: the head.
        table: the target's embeddings `[V, H]`.
        tokens: `[b, L]`, int64.
        lengths: `[b]`, on the CPU: number of tokens of each row without padding.
        starts: `[b]`, on the CPU: number of tokens of the prompt of each row, which are not predicted.
        features: `[b, L, k H]`, the target's hidden states.
        target: `[b, L, D]`, float32: the target's probabilities on the draft vocabulary, not renormalised.
        steps: number of drafting steps, at least 1.
        output: see `EagleHead.logits`.

    Returns:
        One entry per step, up to the last step with a position that counts.
    """
    width = tokens.shape[1]
    rows = torch.arange(width - 1)
    started = rows + 1 >= starts[:, None] - 1
    wanted = TargetRows.of(target.flatten(0, 1))
    results: list[UnrolledStep] = []
    for step, hidden in enumerate(drafted(head, table, tokens, features, steps)):
        # Indices are computed on the CPU, as a mask on the device would have to be waited for.
        batch, place = (started & (rows + 1 + step < lengths[:, None])).nonzero(as_tuple=True)
        if not len(batch):
            break
        index = torch.stack([batch * (width - 1) + place, batch * width + place + 1 + step])
        here, there = send(index, tokens.device)
        logits = head.logits(hidden.flatten(0, 1).index_select(0, here), output)
        results.append(UnrolledStep(*divergence(logits, wanted, there), len(batch)))
    return results
