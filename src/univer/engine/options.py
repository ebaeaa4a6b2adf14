"""The options of a request, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from univer.drafting.growth.parse import TreeSpec
from univer.engine.warpers import Sampling
from univer.methods import Method


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `generate` can be asked for; its docstring explains every field."""

    method: str | Method = "univer"
    tree: TreeSpec | None = None
    order: str | None = None
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    max_new_tokens: int | None = None
    max_length: int | None = None
    eos_token_id: int | Sequence[int] | Literal["config"] | None = "config"
    attention_mask: Tensor | None = None
    seed: int | None = None
    generator: torch.Generator | None = None
    streamer: Any = None
    draft_temperature: float | None = None
    draft_sampling: Sampling | None = None
    tokenizer: Any = None
    draft_tokenizer: Any = None
    generation_config: Any = None

    def __post_init__(self) -> None:
        for name in ("max_new_tokens", "max_length", "seed"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer)):
                raise TypeError(f"{name} must be an integer, not {value!r}")
        if self.streamer is not None and not all(
            callable(getattr(self.streamer, name, None)) for name in ("put", "end")
        ):
            raise TypeError(f"streamer must have methods put and end, as those of transformers: {self.streamer!r}")

    @property
    def sampling(self) -> Sampling:
        """Settings of the target's laws."""
        return Sampling(self.temperature, self.top_k, self.top_p, self.min_p)

    @property
    def draft_laws(self) -> Sampling:
        """Settings of the draft's laws: by default those of the target.

        Under greedy decoding the draft only ranks tokens, which the untempered law does best: at temperature 0 it would
        be a point mass and leave a single child.
        """
        if self.draft_sampling is not None and self.draft_temperature is not None:
            raise ValueError("pass draft_temperature or draft_sampling, not both")
        if self.draft_sampling is not None:
            return self.draft_sampling
        if self.temperature == 0:
            return Sampling(temperature=self.draft_temperature or 1.0)
        temperature = self.temperature if self.draft_temperature is None else self.draft_temperature
        return Sampling(temperature, self.top_k, self.top_p, self.min_p)

    def random_source(self) -> torch.Generator:
        """The request's own generator, on the CPU; the global one is not touched.

        Raises:
            ValueError: both a seed and a generator, or a generator on another device.
        """
        if self.generator is not None:
            if self.seed is not None:
                raise ValueError("pass seed or generator, not both")
            if self.generator.device.type != "cpu":
                raise ValueError(
                    f"generator must be a CPU generator, not one on {self.generator.device}: torch.Generator()"
                )
            return self.generator
        generator = torch.Generator()
        if self.seed is None:
            generator.seed()
        else:
            generator.manual_seed(self.seed)
        return generator


def prompt_tokens(input_ids: Any, attention_mask: Tensor | None, vocabulary: int) -> list[int]:
    """The ids of the one prompt, without padding on its left.

    Args:
        input_ids: `[1, L]` or `[L]`, int64.
        attention_mask: same shape, 0 on padding; None if there is none.
        vocabulary: number of token ids of the target.

    Returns:
        The ids.

    Raises:
        ValueError: several prompts, none, padding elsewhere than on the left, or ids outside the vocabulary.
        TypeError: no ids, or not whole numbers.

    Example:
        >>> prompt_tokens(torch.tensor([[0, 5, 7]]), torch.tensor([[0, 1, 1]]), 10)
        [5, 7]
    """
    if isinstance(input_ids, Mapping) or hasattr(input_ids, "input_ids"):
        raise TypeError(
            f"input_ids must be a tensor of token ids, not a {type(input_ids).__name__}: pass its .input_ids"
        )
    if not isinstance(input_ids, Tensor | Sequence | np.ndarray) or isinstance(input_ids, str | bytes):
        raise TypeError(
            f"input_ids must be a tensor of token ids, not a {type(input_ids).__name__}: encode the prompt first"
        )
    ids = torch.as_tensor(input_ids)
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise TypeError(f"input_ids must be whole numbers (torch.long), not {ids.dtype}")
    if ids.dim() == 1:
        ids = ids[None]
    if ids.dim() != 2:
        raise ValueError(f"input_ids must be [1, length], not {list(ids.shape)}")
    if len(ids) != 1:
        raise ValueError(
            f"batches are not supported, got {len(ids)} prompts: call generate once for each, without padding"
        )
    tokens = ids[0]
    if attention_mask is not None:
        mask = attention_mask.reshape(-1).bool().to(tokens.device)
        if mask.shape != tokens.shape:
            raise ValueError(f"attention_mask has {len(mask)} entries for {len(tokens)} tokens")
        if not bool((mask[1:] >= mask[:-1]).all()):
            raise ValueError(
                "attention_mask hides tokens inside or after the prompt: only padding on the left is supported"
            )
        tokens = tokens[mask]
    prompt: list[int] = tokens.tolist()
    if not prompt:
        raise ValueError("the prompt is empty: start from at least one token, such as the tokenizer's bos_token_id")
    if min(prompt) < 0 or max(prompt) >= vocabulary:
        raise ValueError(f"the prompt holds ids outside the target's vocabulary of {vocabulary}")
    return prompt
