"""From what a caller passes as `draft` to a draft."""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from univer.drafting.base import Draft


def as_draft(draft: Any, target: Any) -> Draft | None:
    """The draft that a model, a text or an object stands for.

    Args:
        draft: a causal language model; a draft; None for plain decoding; `"lookup"` for prompt look-up; `"first=8"` for
            the target's first 8 layers; `"skip=16-18"` or `"skip=3,16,17"` for the target without the layers named.
        target: the target model, whose layers a self-draft runs.

    Returns:
        The draft, or None.

    Raises:
        ValueError: the text names no draft.
        TypeError: the object is no draft.

    Example:
        >>> as_draft("lookup", target=None).name
        'lookup'
    """
    # Drafts run their models through this package's runner; imported here, the two packages load in either order.
    from univer.drafting.independent import IndependentDraft
    from univer.drafting.layers import early_exit, skip_layers
    from univer.drafting.lookup import LookupDraft

    if draft is None:
        return None
    if isinstance(draft, str):
        if draft == "lookup":
            return LookupDraft()
        if match := re.fullmatch(r"first=(\d+)", draft):
            return early_exit(target, int(match[1]))
        if match := re.fullmatch(r"skip=((\d+(-\d+)?)(,\d+(-\d+)?)*)", draft):
            return skip_layers(target, _numbers(match[1]))
        raise ValueError(f"unknown draft {draft!r}: use 'lookup', 'first=8', 'skip=16-18', or pass a model")
    if isinstance(draft, nn.Module):
        return IndependentDraft(draft)
    if isinstance(draft, Draft):
        return draft
    raise TypeError(f"a draft is a causal language model, a draft object or a text, not a {type(draft).__name__}")


def _numbers(text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
