"""Optimisers of a head: Muon for the matrices where torch has it, AdamW for the rest."""

from __future__ import annotations

import torch
from torch import nn

# Learning rate of norms, embeddings and the output layer, relative to that of the matrices.
OTHERS = 0.5


def optimizer_name() -> str:
    """`muon+adamw`, or `adamw` where torch is older than 2.9 and has no Muon."""
    return "muon+adamw" if hasattr(torch.optim, "Muon") else "adamw"


def make_optimizers(head: nn.Module, learning_rate: float, weight_decay: float) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al., 2024; with updates as large as AdamW's, Liu et al., arXiv 2502.16982) and AdamW.

    Args:
        head: the head.
        learning_rate: its peak, for the matrices.
        weight_decay: weight decay of the matrices; other parameters have none.

    Returns:
        The optimisers; the `scale` of a parameter group is its learning rate relative to that of the matrices.
    """
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in head.named_parameters():
        inner = parameter.ndim == 2 and not name.startswith(("lm_head", "embed_tokens"))
        (matrices if inner else others).append(parameter)
    optimizers: list[torch.optim.Optimizer] = []
    groups = [{"params": others, "weight_decay": 0.0, "scale": OTHERS}]
    if hasattr(torch.optim, "Muon"):
        optimizers.append(
            torch.optim.Muon(
                [{"params": matrices, "scale": 1.0}],
                lr=learning_rate,
                weight_decay=weight_decay,
                adjust_lr_fn="match_rms_adamw",
            )
        )
    else:
        groups.insert(0, {"params": matrices, "weight_decay": weight_decay, "scale": 1.0})
    optimizers.append(torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95)))
    return optimizers
