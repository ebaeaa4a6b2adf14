"""From the head's logits and the target's laws to the loss, its gradient and the acceptance, in one go through both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Entries worked on at once on a CPU: they stay in its cache, where a whole batch would go to memory for every step of
# the arithmetic.
CHUNK = 1 << 18


def chunks(rows: Tensor) -> Iterator[slice]:
    """Parts of `[n, D]` to work on one after the other."""
    size = max(1, CHUNK // rows.shape[1]) if rows.device.type == "cpu" else len(rows)
    for start in range(0, len(rows), size):
        yield slice(start, start + size)


@dataclass(frozen=True)
class TargetLaws:
    """The target's laws on the draft vocabulary, with what every drafting step needs of them.

    Attributes:
        laws: `[m, D]`, not renormalised.
        mass: `[m]`, their sums, at least the smallest positive number: a position may have none.
        entropy: `[m]`, nats, of the renormalised laws.
        best: `[m]`, the most probable token.
    """

    laws: Tensor
    mass: Tensor
    entropy: Tensor
    best: Tensor

    @classmethod
    def of(cls, laws: Tensor) -> TargetLaws:
        """Look once at all laws `[m, D]`."""
        mass = laws.sum(-1).clamp_min(torch.finfo(laws.dtype).tiny)
        entropy = torch.empty_like(mass)
        for rows in chunks(laws):
            entropy[rows] = torch.special.entr(laws[rows] / mass[rows, None]).sum(-1)
        return cls(laws, mass, entropy, laws.argmax(-1))


class Divergence(torch.autograd.Function):
    r"""Kullback-Leibler divergence `mean_i sum_x L_i(x) log (L_i(x) / D_i(x))` of head laws `D` from target laws `L`.

    `L` is the target's law on the draft vocabulary, renormalised. The gradient `(D - L) / n` is made on the way and
    kept in the dtype of the logits, so nothing of the size of the logits is kept besides.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: TargetLaws, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Loss, acceptance and agreement.

        Args:
            ctx: keeps the gradient.
            logits: `[n, D]`, the head's.
            target: the target's laws.
            index: `[n]`, the target's row that belongs to each row of logits.

        Returns:
            The divergence, the mean of `sum_x min(P(x), D(x))`, and the share of rows where both have the same most
            probable token; scalars, of which only the first has a gradient.
        """
        gradient = torch.empty_like(logits)
        count = len(logits)
        sums = torch.zeros(3, dtype=target.laws.dtype, device=logits.device)
        for rows in chunks(logits):
            places = index[rows]
            law, mass = target.laws[places], target.mass[places, None]
            # A copy: what follows is done in place.
            scores = logits[rows].to(law.dtype, copy=True)
            scores -= scores.amax(-1, keepdim=True)
            cross = (law * scores).sum(-1, keepdim=True) / mass
            agreeing = scores.gather(1, target.best[places, None]) == 0
            draft = scores.exp_()
            total = draft.sum(-1, keepdim=True)
            draft /= total
            overlap = torch.minimum(draft, law).sum()
            # A position without mass teaches nothing.
            counted = law.sum(-1, keepdim=True) / mass
            divergence = (total.log() * counted - cross).sum() - target.entropy[places].sum()
            sums += torch.stack([divergence, overlap, agreeing.sum().to(law.dtype)])
            draft *= counted
            gradient[rows] = draft.sub_(law.div_(mass)).div_(count)
        ctx.save_for_backward(gradient)
        loss, acceptance, agreement = (sums / count).unbind()
        ctx.mark_non_differentiable(acceptance, agreement)
        return loss, acceptance, agreement

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None, None]:
        """The gradient by the logits."""
        (gradient,) = ctx.saved_tensors
        return gradient * outer[0].to(gradient.dtype), None, None


def divergence(logits: Tensor, target: TargetLaws, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Loss, acceptance and agreement; see `Divergence.forward`."""
    loss, acceptance, agreement = Divergence.apply(logits, target, index)  # type: ignore[no-untyped-call]
    return loss, acceptance, agreement
