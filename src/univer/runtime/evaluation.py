"""Models at work: evaluation mode without gradients, whatever they are in outside."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

# Modules that are in training mode outside, each with the number of those who want it in evaluation mode.
_wanted: Counter[nn.Module] = Counter()
_lock = threading.Lock()


@contextmanager
def evaluating(models: Sequence[Any]) -> Iterator[None]:
    """Inference mode, and modules that are in training mode in evaluation mode, and back whatever happens.

    Inside another one, of this thread or of others, it changes nothing: the last one to leave puts the modes back.

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
    with _lock:
        held = [module for module in modules if module.training or module in _wanted]
        _wanted.update(held)
        for module in held:
            module.training = False
    try:
        with torch.inference_mode():
            yield
    finally:
        with _lock:
            _wanted.subtract(held)
            for module in held:
                if not _wanted[module]:
                    module.training = True
                    del _wanted[module]
