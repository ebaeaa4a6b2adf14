"""A model and the cache of several texts: reads committed tokens of one text, then trees below all of them at once."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from univer.runtime.attention import attention_pattern
from univer.runtime.cache import (
    Entries,
    Place,
    check_lengths,
    clear_row,
    entries,
    keep_nodes,
    move_row,
    new_cache,
)
from univer.runtime.features import FeatureTap, bare_model, uncompiled
from univer.topology import Bools, lines_of_descent

# Committed tokens read in one pass where they need a mask.
MASKED_TOKENS = 1024
# Read in place of the nodes that a row lacks against the row with most; nothing of them is ever looked at.
FILLER = 0


@dataclass
class CachedText:
    """What the cache holds of one text: its committed tokens, then the candidate nodes of the present round.

    Attributes:
        length: number of committed tokens.
        depths: of each candidate node, counted from the committed tokens.
        ancestors: bool `[n, n]`: which nodes each of them sees, itself included.
    """

    length: int = 0
    depths: list[int] = field(default_factory=list)
    ancestors: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    def add(self, parents: Sequence[int]) -> None:
        """Add nodes; parents are counted from the first pending node, -1 stands for the committed tokens."""
        for parent in parents:
            self.depths.append(self.depths[parent] + 1 if parent >= 0 else 0)
        self.ancestors = lines_of_descent(self.ancestors, parents)

    def settle(self, count: int) -> None:
        """Commit `count` nodes and forget the others."""
        self.length += count
        self.depths, self.ancestors = [], np.zeros((0, 0), dtype=bool)


class TreeBatch:
    """Runs a causal language model over growing texts and over the trees that hang below their ends.

    A *row* is a text with its own length. A node sees the committed tokens of its row, its ancestors and itself; its
    position is that of its depth. Rows do not see each other.

    Args:
        model: a causal language model of transformers, or one with the same `forward`.
        features: hidden states to take while reading, see `FeatureTap`.

    Attributes:
        texts: what the cache holds of every row.
        passes: number of forward passes so far.
        features: the hidden states that the last call took, for every row that it read `[n, k * H]`, one for each of
            its `n` tokens; None if none were asked for.

    Raises:
        ValueError: the model has no such hidden states.
    """

    def __init__(self, model: Any, features: Sequence[int] = ()) -> None:
        # A graph that was compiled without the hooks of the features would not call them.
        self.model = uncompiled(model) if features else model
        self.pattern = attention_pattern(model.config)
        self.texts: list[CachedText] = []
        self.passes = 0
        self.features: list[Tensor] | None = None
        self.dtype = getattr(model, "dtype", torch.float32)
        self.device = input_device(model)
        self._place = Place()
        self.cache = new_cache(self._place)
        self._tap = FeatureTap(self.model, features) if features else None
        self._optional = _optional_arguments(model)

    def add(self) -> int:
        """Add an empty row; returns its number."""
        self.texts.append(CachedText())
        return len(self.texts) - 1

    def remove(self, row: int) -> None:
        """Remove a row; the last one takes its number."""
        number, last = len(self.texts) - 1, self.texts[-1]
        # Rows come and go between passes too, and what was made in inference mode changes only there.
        with torch.inference_mode():
            clear_row(self.cache, row)
            if row < number:
                move_row(self.cache, number, row, last.length + len(last.depths))
                self.texts[row] = last
        self.texts.pop()

    def load(self, row: int, entries: Entries) -> None:
        """Let an empty row begin with keys and values of committed tokens that were read elsewhere.

        Args:
            row: its number.
            entries: layer by layer `[1, heads, n, d]` each, None for layers without any.
        """
        self._place.first, self._place.held = row, [0]
        for number, states in enumerate(entries):
            if states is not None:
                self.cache.update(*states, number)
                self.texts[row].length = states[0].shape[-2]

    def entries(self, row: int, length: int) -> Entries:
        """Copies of the first keys and values of a row, in the form of `load`."""
        with torch.inference_mode(False):
            return [
                None if states is None else (states[0].clone(), states[1].clone())
                for states in entries(self.cache, row, length)
            ]

    def extend(self, row: int, tokens: Sequence[int]) -> Tensor:
        """Read tokens of one row that are committed already.

        Args:
            row: its number.
            tokens: the next committed token ids, at least one.

        Returns:
            Logits `[V]` after the last of them, in the model's dtype.
        """
        text = self.texts[row]
        if text.depths:
            raise RuntimeError("committed tokens cannot be read while candidate nodes are pending: call keep first")
        # A mask over a long prompt would take the square of its length.
        whole = self.pattern.causal_without_mask(text.length, len(tokens))
        size = len(tokens) if whole else MASKED_TOKENS
        features: list[Tensor] = []
        for start in range(0, len(tokens), size):
            part = tokens[start : start + size]
            positions = torch.arange(text.length, text.length + len(part), device=self.device)[None]
            mask = None
            if not self.pattern.causal_without_mask(text.length, len(part)):
                keys = torch.arange(text.length + len(part), device=self.device)[None]
                mask = self.pattern.mask(keys[:, None] <= positions[:, :, None], positions, keys, self.dtype)
            self._place.first, self._place.held = row, [text.length]
            logits = self._forward([part], positions, mask, last_only=True)
            text.length += len(part)
            features += [] if self.features is None else self.features
        self.features = [torch.cat(features)] if features else None
        return logits[0, -1]

    def read_nodes(
        self, tokens: Sequence[Sequence[int]], parents: Sequence[Sequence[int]], first: int = 0
    ) -> list[Tensor]:
        """Read candidate nodes of consecutive rows, in one pass.

        Args:
            tokens: for each row `n` token ids, at least one.
            parents: for each row and node the number of its parent among all nodes of the row read since the last
                `keep` (these included), or -1 if it follows the committed tokens; parents come first.
            first: the first of the rows.

        Returns:
            For each row logits `[n, V]` after its nodes, in the model's dtype.

        Raises:
            ValueError: the nodes branch, or rows differ in length, and the attention back end cannot be given a mask.
        """
        texts = self.texts[first : first + len(tokens)]
        starts = [len(text.depths) for text in texts]
        for text, own in zip(texts, parents, strict=True):
            text.add(own)
        counts = [len(own) for own in tokens]
        widest = max(counts)
        held = [text.length + start for text, start in zip(texts, starts, strict=True)]
        positions = torch.tensor(
            [
                [text.length + depth for depth in text.depths[start:]] + [0] * (widest - count)
                for text, start, count in zip(texts, starts, counts, strict=True)
            ],
            device=self.device,
        )
        mask = self._tree_mask(texts, starts, held, positions)
        filled = [[*own, *[FILLER] * (widest - len(own))] for own in tokens]
        self._place.first, self._place.held = first, held
        logits = self._forward(filled, positions, mask, last_only=False)
        if self.features is not None:
            self.features = [states[:count] for states, count in zip(self.features, counts, strict=True)]
        return [own[:count] for own, count in zip(logits, counts, strict=True)]

    def keep(self, nodes: Sequence[Sequence[int]], first: int = 0) -> None:
        """Commit some candidate nodes of consecutive rows, a path from the committed tokens down, forget the others.

        Args:
            nodes: for each row their numbers, in rising order.
            first: the first of the rows.
        """
        lengths = [0] * first + [text.length for text in self.texts[first : first + len(nodes)]]
        keep_nodes(self.cache, lengths, [[]] * first + [list(kept) for kept in nodes])
        for text, kept in zip(self.texts[first:], nodes, strict=False):
            text.settle(len(kept))

    def _tree_mask(
        self, texts: Sequence[CachedText], starts: Sequence[int], held: Sequence[int], positions: Tensor
    ) -> Tensor | dict[str, Tensor] | None:
        """The mask of a pass over nodes, or None where the model's own does."""
        rows, widest = positions.shape
        if not self.pattern.honours_masks:
            chains = all(text.depths == list(range(len(text.depths))) for text in texts)
            if not chains or len({length + len(text.depths) for text, length in zip(texts, held, strict=True)}) > 1:
                raise ValueError(
                    f"attention back end {self.pattern.backend!r} only knows causal masks: draft chains, one text at a "
                    "time"
                )
            return None
        alone = all(not start and len(text.depths) == 1 for text, start in zip(texts, starts, strict=True))
        level = len(set(held)) == 1 and widest == 1
        if alone and level and all(self.pattern.causal_without_mask(length, 1) for length in held):
            return None
        total = max(held) + widest
        visible = np.zeros((rows, widest, total), dtype=bool)
        keys = np.zeros((rows, total), dtype=np.int64)
        for row, (text, start) in enumerate(zip(texts, starts, strict=True)):
            length, end, count = text.length, text.length + len(text.depths), len(text.depths) - start
            visible[row, :, :length] = True
            visible[row, :count, length:end] = text.ancestors[start:]
            # A filler sees the committed tokens and itself.
            fillers = np.arange(count, widest)
            visible[row, fillers, length + start + fillers] = True
            keys[row, :length] = np.arange(length)
            keys[row, length:] = length
            keys[row, length:end] = length + np.array(text.depths)
        seen, at = torch.from_numpy(visible).to(self.device), torch.from_numpy(keys).to(self.device)
        return self.pattern.mask(seen, positions, at, self.dtype)

    def _forward(
        self,
        tokens: Sequence[Sequence[int]],
        positions: Tensor,
        mask: Tensor | dict[str, Tensor] | None,
        *,
        last_only: bool,
    ) -> Tensor:
        arguments = dict(self._optional)
        if "logits_to_keep" in arguments:
            arguments["logits_to_keep"] = 1 if last_only else 0
        arguments[arguments.pop("cache_argument")] = self.cache
        with self._tap.open() if self._tap else nullcontext():
            output = self.model(
                input_ids=torch.tensor([list(own) for own in tokens], device=self.device),
                position_ids=positions,
                attention_mask=mask,
                **arguments,
            )
        check_lengths(self.cache, max(self._place.held) + len(tokens[0]))
        self.features = list(self._tap.take()) if self._tap else None
        self.passes += 1
        logits: Tensor = output.logits
        return logits


def cache_argument(model: Any) -> str | None:
    """The name under which a model's `forward` takes its cache, or None if it takes none."""
    parameters = _parameters(model)
    for name in ("cache", "past_key_values"):
        if name in parameters:
            return name
    return "past_key_values" if _takes_any(parameters) else None


def _optional_arguments(model: Any) -> dict[str, Any]:
    parameters = _parameters(model)
    arguments: dict[str, Any] = {"cache_argument": cache_argument(model)}
    for name in ("use_cache", "return_dict"):
        if _takes_any(parameters) or name in parameters:
            arguments[name] = True
    if "logits_to_keep" in parameters:
        arguments["logits_to_keep"] = 0
    return arguments


def _parameters(model: Any) -> Mapping[str, inspect.Parameter]:
    """Parameters of the forward that does the work: an adapter's own only hands on what it is given."""
    return inspect.signature(bare_model(model).forward).parameters


def _takes_any(parameters: Mapping[str, inspect.Parameter]) -> bool:
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def input_device(model: Any) -> torch.device:
    """Where the token ids go: the device of the embeddings, which may differ from that of later layers."""
    embeddings = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    weight = getattr(embeddings, "weight", None)
    device = weight.device if weight is not None else getattr(model, "device", "cpu")
    if torch.device(device).type == "meta":
        # Weights that accelerate brings in for the length of a pass; its hook knows where to.
        hook = getattr(embeddings, "_hf_hook", None)
        places = [getattr(own, "execution_device", None) for own in getattr(hook, "hooks", [hook])]
        device = next((place for place in places if place is not None), "cpu")
    return torch.device(device)
