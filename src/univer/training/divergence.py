"""Loss, gradient and acceptance from the head's logits and the target's distributions, in one pass over both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Entries processed at once on a CPU, few enough to stay in its cache between the operations.
CHUNK = 1 << 18


def chunks(rows: Tensor) -> Iterator[slice]:
    """Ranges of rows of `[n, D]` to process one after the other."""
    size = max(1, CHUNK // rows.shape[1]) if rows.device.type == "cpu" else len(rows)
    for start in range(0, len(rows), size):
        yield slice(start, start + size)


@dataclass(frozen=True)
class TargetRows:
    """The target's distributions on the draft vocabulary, with the figures that every drafting step uses.

    Attributes:
        rows: `[m, D]`, the target's probabilities, not renormalised.
        mass: `[m]`, their sums, at least the smallest positive number, as they may be 0.
        entropy: `[m]`, nats, of the renormalised rows.
        best: `[m]`, the most probable token.
    """

    rows: Tensor
    mass: Tensor
    entropy: Tensor
    best: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> TargetRows:
        """Compute the figures of rows `[m, D]`."""
        mass = rows.sum(-1).clamp_min(torch.finfo(rows.dtype).tiny)
        entropy = torch.empty_like(mass)
        for part in chunks(rows):
            entropy[part] = torch.special.entr(rows[part] / mass[part, None]).sum(-1)
        return cls(rows, mass, entropy, rows.argmax(-1))


class Divergence(torch.autograd.Function):
    r"""Kullback-Leibler divergence `mean_i sum_x P_i(x) log (P_i(x) / Q_i(x))` from target `P` to head `Q`.

    `P` is the target's distribution on the draft vocabulary, renormalised. The gradient by the logits, `(Q - P) / n`,
    is computed in the forward pass and kept in the dtype of the logits; it is the only tensor of their size that is
    kept.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: TargetRows, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Loss, acceptance and agreement.

        Args:
            ctx: keeps the gradient.
            logits: `[n, D]`, the head's.
            target: the target's distributions.
            index: `[n]`, int64, the row of the target for each row of logits.

        Returns:
            The divergence in nats, the mean of `sum_x min(P(x), Q(x))` with `P` not renormalised, and the share of rows
            where both have the same most probable token; scalars, of which only the first has a gradient.
        """
        gradient = torch.empty_like(logits)
        count = len(logits)
        sums = torch.zeros(3, dtype=target.rows.dtype, device=logits.device)
        for rows in chunks(logits):
            places = index[rows]
            wanted, mass = target.rows[places], target.mass[places, None]
            # A copy, as the operations below are in place.
            scores = logits[rows].to(wanted.dtype, copy=True)
            scores -= scores.amax(-1, keepdim=True)
            cross = (wanted * scores).sum(-1, keepdim=True) / mass
            agreeing = scores.gather(1, target.best[places, None]) == 0
            draft = scores.exp_()
            total = draft.sum(-1, keepdim=True)
            draft /= total
            overlap = torch.minimum(draft, wanted).sum()
            # 1, or 0 for a row without mass, which has no gradient.
            counted = wanted.sum(-1, keepdim=True) / mass
            divergence = (total.log() * counted - cross).sum() - target.entropy[places].sum()
            sums += torch.stack([divergence, overlap, agreeing.sum().to(wanted.dtype)])
            draft *= counted
            gradient[rows] = draft.sub_(wanted.div_(mass)).div_(count)
        ctx.save_for_backward(gradient)
        loss, acceptance, agreement = (sums / count).unbind()
        ctx.mark_non_differentiable(acceptance, agreement)
        return loss, acceptance, agreement

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None, None]:
        """The gradient by the logits."""
        (gradient,) = ctx.saved_tensors
        return gradient * outer[0].to(gradient.dtype), None, None


def divergence(logits: Tensor, target: TargetRows, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Loss, acceptance and agreement; see `Divergence.forward`."""
    loss, acceptance, agreement = Divergence.apply(logits, target, index)  # type: ignore[no-untyped-call]
    return loss, acceptance, agreement
