"""Caches of transformers, taken in at the beginning of a text and filled at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from univer.engine.row import Row
from univer.runtime.cache import Entries

# Layers that hold keys and values as they were computed, of all tokens or of the last ones.
PLAIN_LAYERS = (DynamicLayer, DynamicSlidingWindowLayer)


def check_cache(cache: Any, gaps: Sequence[int], width: int) -> None:
    """Refuse a cache that cannot be continued or filled.

    Args:
        cache: a cache of transformers, or None.
        gaps: tokens of padding before each prompt.
        width: tokens of the prompts, with their padding.

    Raises:
        ValueError: with what is wrong.
    """
    if cache is None:
        return
    kinds = {type(layer) for layer in getattr(cache, "layers", [])} - set(PLAIN_LAYERS)
    if kinds or not hasattr(cache, "layers"):
        name = next(iter(kinds), type(cache)).__name__
        raise ValueError(f"a cache with {name} is not supported with univer.hf: use a DynamicCache, or none")
    held = cache.get_seq_length()
    if not held:
        return
    if len(gaps) > 1:
        raise ValueError(f"a cache that holds tokens already is supported for one prompt, not for {len(gaps)}")
    if held > width:
        raise ValueError(f"the cache holds {held} tokens, the prompt has {width}: it belongs to a longer text")
    for layer in cache.layers:
        if layer.is_initialized and layer.keys.shape[-2] != held:
            raise ValueError(
                "the cache has dropped tokens that left a sliding window: pass the whole prompt without a cache"
            )


def read_cache(cache: Any, gap: int, width: int) -> Entries | None:
    """Keys and values of a checked cache, layer by layer; None where there are none of use.

    Args:
        cache: a checked cache.
        gap: tokens of padding before the prompt, which are left out.
        width: tokens of the prompt with its padding; the last one is read again, for its logits.
    """
    end = min(cache.get_seq_length(), width - 1)
    if end <= gap:
        return None
    return [
        (layer.keys[:, :, gap:end], layer.values[:, :, gap:end]) if layer.is_initialized else None
        for layer in cache.layers
    ]


def fill_cache(cache: Any, rows: Sequence[Row], gaps: Sequence[int], length: int) -> None:
    """Leave the keys and values of all tokens but the last in a cache, as transformers' own loop does.

    Args:
        cache: a checked cache; it is changed in place.
        rows: the texts, ended.
        gaps: tokens of padding before each prompt, for which zeros are filled in.
        length: number of tokens that the cache is to hold, fillers of shorter texts included.
    """
    kept = [row.entries for row in rows if row.entries is not None]
    if len(kept) < len(rows):
        return
    held = cache.get_seq_length()
    for number, layers in enumerate(zip(*kept, strict=True)):
        states = [pair for pair in layers if pair is not None]
        if states:
            keys, values = (_side_by_side([pair[place] for pair in states], gaps, length) for place in (0, 1))
            cache.update(keys[:, :, held:], values[:, :, held:], number)


def _side_by_side(states: Sequence[Tensor], gaps: Sequence[int], length: int) -> Tensor:
    """Entries `[1, heads, n, d]` of several texts as one tensor `[b, heads, length, d]`, zeros around them."""
    filled = states[0].new_zeros(len(states), states[0].shape[1], length, states[0].shape[-1])
    for row, (own, gap) in enumerate(zip(states, gaps, strict=True)):
        filled[row, :, gap : gap + own.shape[-2]] = own[0]
    return filled
