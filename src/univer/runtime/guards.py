"""Code of the caller runs as it would in transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def without_inference_mode() -> Iterator[None]:
    """No gradients, but no inference mode: its tensors could not be changed in place once it has ended."""
    with torch.inference_mode(False), torch.no_grad():
        yield


def name_of(call: Any) -> str:
    """What messages call a function or a callable object of the caller."""
    return getattr(call, "__name__", None) or type(call).__name__
