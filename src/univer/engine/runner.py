"""One model and its cache: reads committed tokens, then trees of candidate tokens, and keeps what was accepted."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from univer.engine.attention import attention_pattern
from univer.engine.cache import check_lengths, keep_nodes, new_cache
from univer.engine.features import FeatureTap

# Committed tokens read in one pass where they need a mask.
MASKED_TOKENS = 1024


class TreeRunner:
    """Runs a causal language model over a growing text and over trees that hang below its end.

    The cache holds the committed tokens read so far, followed by the candidate *nodes* of the present round. A node
    sees the committed tokens, its ancestors and itself; its position is that of its depth.

    Args:
        model: a causal language model of transformers, or one with the same `forward`.
        features: hidden states to take while reading, see `FeatureTap`.

    Attributes:
        length: number of committed tokens in the cache.
        passes: number of forward passes so far.
        features: the hidden states `[n, k * H]` of the `n` tokens of the last `extend` or `read_nodes`; None if none
            were asked for.

    Raises:
        ValueError: the model has no such hidden states.
    """

    def __init__(self, model: Any, features: Sequence[int] = ()) -> None:
        self.model = model
        self.pattern = attention_pattern(model.config)
        self.cache = new_cache()
        self.length = 0
        self.passes = 0
        self.features: Tensor | None = None
        self._tap = FeatureTap(model, features) if features else None
        self.dtype = getattr(model, "dtype", torch.float32)
        self.device = _input_device(model)
        self._depths: list[int] = []
        self._ancestors = np.zeros((0, 0), dtype=bool)
        self._optional = _optional_arguments(model)

    @property
    def nodes(self) -> int:
        """Number of candidate nodes in the cache."""
        return len(self._depths)

    def extend(self, tokens: Sequence[int]) -> Tensor:
        """Read tokens that are committed already.

        Args:
            tokens: the next committed token ids, at least one.

        Returns:
            Logits `[V]` after the last of them, in the model's dtype.
        """
        if self.nodes:
            raise RuntimeError("committed tokens cannot be read while candidate nodes are pending: call keep first")
        if not self.pattern.causal_without_mask(self.length, len(tokens)):
            # A mask over a long prompt would take the square of its length.
            features: list[Tensor] = []
            for start in range(0, len(tokens), MASKED_TOKENS):
                logits = self._extend(tokens[start : start + MASKED_TOKENS])
                features += [] if self.features is None else [self.features]
            self.features = torch.cat(features) if features else None
            return logits
        return self._extend(tokens)

    def _extend(self, tokens: Sequence[int]) -> Tensor:
        count = len(tokens)
        positions = torch.arange(self.length, self.length + count, device=self.device)
        mask = None
        if not self.pattern.causal_without_mask(self.length, count):
            keys = torch.arange(self.length + count, device=self.device)
            mask = self.pattern.mask(keys <= positions[:, None], positions, keys, self.dtype)
        logits = self._forward(tokens, positions, mask, last_only=True)
        self.length += count
        check_lengths(self.cache, self.length)
        return logits[-1]

    def read_nodes(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Read candidate nodes, in one pass.

        Args:
            tokens: `n` token ids.
            parents: for each the number of its parent among all nodes read since the last `keep` (these included), or
                -1 if it follows the committed tokens; parents come first.

        Returns:
            Logits `[n, V]` after each node, in the model's dtype.

        Raises:
            ValueError: the nodes branch and the attention back end cannot be given a mask.
        """
        first, total = self.nodes, self.nodes + len(tokens)
        ancestors = np.zeros((total, total), dtype=bool)
        ancestors[:first, :first] = self._ancestors
        for node, parent in enumerate(parents, start=first):
            if parent >= 0:
                ancestors[node] = ancestors[parent]
            ancestors[node, node] = True
            self._depths.append(self._depths[parent] + 1 if parent >= 0 else 0)
        self._ancestors = ancestors
        depths = torch.tensor(self._depths, device=self.device)
        positions = self.length + depths[first:]
        mask = None
        if not self.pattern.honours_masks:
            if list(parents) != list(range(first - 1, total - 1)):
                raise ValueError(f"attention back end {self.pattern.backend!r} only knows causal masks: draft a chain")
        elif total > 1 or not self.pattern.causal_without_mask(self.length, 1):
            keys = torch.cat([torch.arange(self.length, device=self.device), self.length + depths])
            visible = torch.ones(len(tokens), self.length + total, dtype=torch.bool, device=self.device)
            visible[:, self.length :] = torch.from_numpy(ancestors[first:]).to(self.device)
            mask = self.pattern.mask(visible, positions, keys, self.dtype)
        return self._forward(tokens, positions, mask, last_only=False)

    def keep(self, nodes: Sequence[int]) -> None:
        """Commit some candidate nodes, a path from the committed tokens down, and forget the others.

        Args:
            nodes: their numbers, in rising order.
        """
        keep_nodes(self.cache, self.length, nodes)
        self.length += len(nodes)
        self._depths = []
        self._ancestors = np.zeros((0, 0), dtype=bool)

    def _forward(
        self, tokens: Sequence[int], positions: Tensor, mask: Tensor | dict[str, Tensor] | None, *, last_only: bool
    ) -> Tensor:
        arguments = dict(self._optional)
        if "logits_to_keep" in arguments:
            arguments["logits_to_keep"] = 1 if last_only else 0
        cache_argument = arguments.pop("cache_argument")
        arguments[cache_argument] = self.cache
        with self._tap.open() if self._tap else nullcontext():
            output = self.model(
                input_ids=torch.tensor([list(tokens)], device=self.device),
                position_ids=positions[None],
                attention_mask=mask,
                **arguments,
            )
        if self._tap:
            self.features = self._tap.take()
        self.passes += 1
        logits: Tensor = output.logits[0]
        return logits


def cache_argument(model: Any) -> str | None:
    """The name under which a model's `forward` takes its cache, or None if it takes none."""
    parameters = inspect.signature(model.forward).parameters
    for name in ("cache", "past_key_values"):
        if name in parameters:
            return name
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return "past_key_values" if takes_any else None


def _optional_arguments(model: Any) -> dict[str, Any]:
    parameters = inspect.signature(model.forward).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    arguments: dict[str, Any] = {"cache_argument": cache_argument(model)}
    for name in ("use_cache", "return_dict"):
        if takes_any or name in parameters:
            arguments[name] = True
    if "logits_to_keep" in parameters:
        arguments["logits_to_keep"] = 0
    return arguments


def _input_device(model: Any) -> torch.device:
    """Where the token ids go: the device of the embeddings, which may differ from that of later layers."""
    embeddings = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    weight = getattr(embeddings, "weight", None)
    device = weight.device if weight is not None else getattr(model, "device", "cpu")
    return torch.device(device)
