"""Models at work: evaluation mode without gradients, whatever they are in outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def evaluating(models: Sequence[Any]) -> Iterator[None]:
    """Inference mode, and modules that are in training mode in evaluation mode, and back whatever happens.

    Inside another one it changes nothing.

    Args:
        models: what has no modules is left alone.

    Example:
        >>> dropout = nn.Dropout()
        >>> with evaluating([dropout]):
        ...     dropout.training
        False
        >>> dropout.training
        True
    """
    modules = [module for model in models if isinstance(model, nn.Module) for module in model.modules()]
    training = [module for module in modules if module.training]
    for module in training:
        module.training = False
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in training:
            module.training = True
