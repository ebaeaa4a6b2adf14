"""Code of the caller runs as it would in transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def outside_inference() -> Iterator[None]:
    """No gradients, but no inference mode: its tensors could not be changed in place once it has ended."""
    with torch.inference_mode(False), torch.no_grad():
        yield
