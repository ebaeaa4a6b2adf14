"""Checksums that distinguish models, tokenizers and chat templates of the same names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn

# Elements of every weight that are read: training changes nearly all of them, so some are enough.
ELEMENTS = 64


def weights_checksum(target: Any, drafts: Iterable[Any]) -> int:
    """A checksum that differs for other weights, a head that was trained further, or another revision of a model.

    Names, shapes and types of all weights count, and of each weight some elements. Weights that are not in memory, as
    those that accelerate offloads, count by their shape, and so do sparse ones.

    Args:
        target: a causal language model.
        drafts: its drafts.

    Example:
        >>> from univer.drafting.guess_draft import GuessDraft
        >>> from univer.drafting.lookup import LookupSource
        >>> model, draft = nn.Linear(3, 3), GuessDraft([LookupSource()])
        >>> before = weights_checksum(model, [draft])
        >>> with torch.no_grad():
        ...     _ = model.weight.add_(1e-3)
        >>> weights_checksum(model, [draft]) == before
        False
    """
    found = 0
    for module in (target, *(module for draft in drafts for module in _modules(draft))):
        for name, weight in module.state_dict().items():
            if not isinstance(weight, Tensor):
                continue  # further state of a layer
            found = crc32(f"{name} {tuple(weight.shape)} {weight.dtype}".encode(), found)
            found = crc32(_some(weight), found)
    return found


def ids_checksum(prompts: Iterable[Tensor]) -> int:
    """A checksum that differs if another tokenizer or chat template turns the prompts into other token ids.

    Args:
        prompts: token ids.

    Example:
        >>> ids_checksum([torch.tensor([[1, 2]]), torch.tensor([[3]])]) == ids_checksum([torch.tensor([[1, 2, 3]])])
        False
    """
    return crc32(repr([ids.flatten().tolist() for ids in prompts]).encode())


def _modules(draft: Any) -> Iterator[nn.Module]:
    """The models and heads of a draft, also of one that is combined with guesses."""
    yield from draft.models
    for part in (getattr(draft, "head", None), getattr(getattr(draft, "draft", None), "head", None)):
        if part is not None:
            yield part


def _some(weight: Any) -> bytes:
    """Some elements of a weight, evenly spread; nothing of one that has none to be read."""
    if weight.device.type == "meta" or weight.layout is not torch.strided:
        return b""
    flat = weight.detach().reshape(-1)
    return bytes(flat[:: max(1, len(flat) // ELEMENTS)].double().cpu().numpy().tobytes())
