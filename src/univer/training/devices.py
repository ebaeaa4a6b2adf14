"""Training on a CPU or a CUDA device: asynchronous copies and mixed precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


def send(values: Tensor, device: torch.device) -> Tensor:
    """Copy from the CPU to a device, asynchronously to a CUDA device."""
    if device.type == "cuda":
        return values.pin_memory().to(device, non_blocking=True)
    return values.to(device)


@contextmanager
def mixed_precision(module: nn.Module, device: torch.device, dtype: torch.dtype) -> Iterator[None]:
    """Multiply matrices in bfloat16 and keep norms in float32, if the dtype is bfloat16; else change nothing.

    Args:
        module: the module with the norms; its weights are in float32.
        device: the device that it computes on.
        dtype: `torch.bfloat16` or `torch.float32`.
    """
    if dtype != torch.bfloat16:
        yield
        return
    # Without this, a norm would compute in the precision of its input, and with a warning.
    norms = [part for part in module.modules() if isinstance(part, nn.RMSNorm)]
    hooks = [norm.register_forward_pre_hook(_in_float32) for norm in norms]
    try:
        with torch.autocast(device.type, torch.bfloat16):
            yield
    finally:
        for hook in hooks:
            hook.remove()


def _in_float32(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(values.float() for values in inputs)
