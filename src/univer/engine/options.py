"""The options of a request, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from univer.drafting.growth.parse import TreeSpec
from univer.engine.logprobs import RequestedOutputs
from univer.engine.processors import Processor
from univer.engine.stopping import Criterion, eos_tokens
from univer.engine.streams import Streams
from univer.engine.warpers import Sampling
from univer.methods import Method

Call = TypeVar("Call", bound=Callable[..., Any])


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
    attention_mask: Tensor | Sequence[Any] | None = None
    seed: int | Sequence[int] | None = None
    generator: torch.Generator | Streams | None = None
    streamer: Any = None
    draft_temperature: float | None = None
    draft_sampling: Sampling | None = None
    tokenizer: Any = None
    draft_tokenizer: Any = None
    generation_config: Any = None
    logits_processor: Sequence[Processor] | Processor | None = None
    stopping_criteria: Sequence[Criterion] | Criterion | None = None
    logprobs: bool | int = False
    output_scores: bool = False
    output_logits: bool = False

    def __post_init__(self) -> None:
        self._check_objects()
        # These raise for values out of range, before anything is done with a model.
        _ = self.sampling, self.effective_draft_sampling, self.eos
        for name in ("max_new_tokens", "max_length", "seed"):
            value = getattr(self, name)
            several = list(value) if name == "seed" and isinstance(value, Sequence | np.ndarray) else [value]
            if value is not None and not all(_is_integer(entry) for entry in several):
                raise TypeError(f"{name} must be an integer, not {value!r}")
            if name == "seed" and value is not None and not all(0 <= entry < 1 << 64 for entry in several):
                raise ValueError(f"seed must be at least 0 and below 2**64, not {value!r}")
        for name, entries in (("logits_processor", self.processors), ("stopping_criteria", self.criteria)):
            if not all(callable(entry) for entry in entries):
                raise TypeError(f"{name} must be a callable or a list of them, not {getattr(self, name)!r}")
        if not isinstance(self.logprobs, bool) and not (_is_integer(self.logprobs) and self.logprobs >= 0):
            raise TypeError(
                f"logprobs must be True, False or the number of most likely tokens beside each, not {self.logprobs!r}"
            )

    def _check_objects(self) -> None:
        """Check that objects have the methods that are needed of them."""
        if self.streamer is not None and not all(
            callable(getattr(self.streamer, name, None)) for name in ("put", "end")
        ):
            raise TypeError(f"streamer must have methods put and end, as those of transformers: {self.streamer!r}")
        needs = {
            "draft_sampling": ("distributions", "a univer.engine.Sampling"),
            "tokenizer": ("get_vocab", "a tokenizer of transformers"),
            "draft_tokenizer": ("get_vocab", "a tokenizer of transformers"),
            "generation_config": ("eos_token_id", "a GenerationConfig of transformers"),
        }
        for name, (attribute, kind) in needs.items():
            value = getattr(self, name)
            if value is not None and not hasattr(value, attribute):
                raise TypeError(f"{name} must be {kind}, not {value!r}")
        generators = self.generator if isinstance(self.generator, Streams) else (self.generator,)
        if not all(isinstance(generator, torch.Generator | None) for generator in generators):
            raise TypeError(f"generator must be a torch.Generator, not {self.generator!r}")
        if self.seed is not None and self.generator is not None:
            raise ValueError("pass seed or generator, not both")
        for generator in generators:
            if generator is not None and generator.device.type != "cpu":
                raise ValueError(f"generator must be a CPU generator, not one on {generator.device}: torch.Generator()")

    @property
    def eos(self) -> frozenset[int]:
        """The caller's own end-of-text ids; none where those of a configuration are asked for."""
        return eos_tokens(self.eos_token_id, None)

    @property
    def processors(self) -> list[Processor]:
        """The caller's processors."""
        return _as_list(self.logits_processor)

    @property
    def criteria(self) -> list[Criterion]:
        """The caller's stopping criteria."""
        return _as_list(self.stopping_criteria)

    @property
    def wanted(self) -> RequestedOutputs:
        """The outputs to keep of every token beside its id."""
        count = None if self.logprobs is False else int(self.logprobs) if self.logprobs is not True else 0
        return RequestedOutputs(count, self.output_scores, self.output_logits)

    @property
    def sampling(self) -> Sampling:
        """Settings of the target's distributions."""
        return Sampling(self.temperature, self.top_k, self.top_p, self.min_p)

    @property
    def effective_draft_sampling(self) -> Sampling:
        """Settings of the draft's distributions: by default those of the target.

        Under greedy decoding the draft only ranks tokens, which its untempered distribution does best: at temperature 0
        it would be a point mass and leave a single child.
        """
        if self.draft_sampling is not None and self.draft_temperature is not None:
            raise ValueError("pass draft_temperature or draft_sampling, not both")
        if self.draft_sampling is not None:
            return self.draft_sampling
        temperature = self.temperature if self.draft_temperature is None else self.draft_temperature
        filters = (self.top_k, self.top_p, self.min_p)
        if self.temperature == 0:
            temperature, filters = temperature or 1.0, (None, None, None)
        try:
            return Sampling(temperature, *filters)
        except (TypeError, ValueError) as error:
            # The settings of the target were sound, so this is about the one of the draft.
            raise type(error)(f"draft_{error}") from None

    def random_streams(self, rows: int) -> list[Streams]:
        """The rows' own random numbers; the global generator is not touched.

        The first row gets those of the seed itself, later ones those of the seed and their number.

        Raises:
            ValueError: a generator for several rows, or another number of seeds than rows.
        """
        if self.generator is not None:
            if rows > 1:
                raise ValueError(f"one generator cannot serve {rows} texts: pass seed")
            return [self.generator if isinstance(self.generator, Streams) else Streams.of(self.generator)]
        if self.seed is None:
            return [Streams.of_seed(torch.Generator().seed()) for _ in range(rows)]
        if isinstance(self.seed, int | np.integer):
            return [Streams.of_seed(int(self.seed), row) for row in range(rows)]
        if len(self.seed) != rows:
            raise ValueError(f"{len(self.seed)} seeds for {rows} texts")
        return [Streams.of_seed(int(seed)) for seed in self.seed]


def with_request_signature(function: Call) -> Call:
    """Show the fields of `Options` in the signature of a function that takes them by name.

    Args:
        function: its last parameter, `**options`, takes the fields and further settings of generation.
    """
    whole = inspect.signature(function)
    *own, _ = whole.parameters.values()
    shown = inspect.signature(Options).parameters.values()
    settings = inspect.Parameter("settings", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    function.__signature__ = whole.replace(parameters=[*own, *shown, settings])  # type: ignore[attr-defined]
    return function


def split_settings(options: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Separate the options of a request from other generation settings.

    Args:
        options: what a caller passed by name.
    """
    names = {entry.name for entry in fields(Options)}
    request = Options(**{name: value for name, value in options.items() if name in names})
    return request, {name: value for name, value in options.items() if name not in names}


def _as_list(value: Any) -> list[Any]:
    # The lists of transformers can be called as well.
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return [] if value is None else [value]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def prompt_rows(input_ids: Any, attention_mask: Any, vocabulary: int) -> list[list[int]]:
    """The ids of every prompt, without padding on its left or right.

    Args:
        input_ids: `[b, L]` or `[L]`, int64, or a list of lists of different lengths.
        attention_mask: same shape, 0 on padding, a tensor or lists; None if there is none.
        vocabulary: number of token ids of the target.

    Returns:
        The ids of each.

    Raises:
        ValueError: a prompt is empty, has gaps inside, or ids outside the vocabulary; of several prompts the message
            has the number, from 0.
        TypeError: no ids, or not whole numbers.

    Example:
        >>> prompt_rows([[0, 5, 7], [6, 4, 0]], torch.tensor([[0, 1, 1], [1, 1, 0]]), 10)
        [[5, 7], [6, 4]]
    """
    rows = list(input_ids) if _are_rows(input_ids) else list(_as_ids(input_ids))
    masks: list[Any] = [None] * len(rows)
    if attention_mask is not None:
        masks = list(attention_mask) if _are_rows(attention_mask) else _mask_rows(attention_mask)
        if len(masks) != len(rows):
            raise ValueError(f"attention_mask has {len(masks)} rows for {len(rows)} prompts")
    prompts = []
    for number, (row, mask) in enumerate(zip(rows, masks, strict=True)):
        try:
            prompts.append(prompt_tokens(row, mask, vocabulary))
        except (TypeError, ValueError) as error:
            if len(rows) == 1:
                raise
            raise type(error)(f"prompt {number}: {error}") from None
    return prompts


def prompt_tokens(input_ids: Any, attention_mask: Any, vocabulary: int) -> list[int]:
    """The ids of one prompt, without padding on its left or right.

    Args:
        input_ids: `[1, L]` or `[L]`, int64.
        attention_mask: same shape, 0 on padding, a tensor or lists; None if there is none.
        vocabulary: number of token ids of the target.

    Returns:
        The ids.

    Raises:
        ValueError: several prompts, none, gaps inside the prompt, or ids outside the vocabulary.
        TypeError: no ids, or not whole numbers.

    Example:
        >>> prompt_tokens(torch.tensor([[0, 5, 7]]), torch.tensor([[0, 1, 1]]), 10)
        [5, 7]
    """
    ids = _as_ids(input_ids)
    if len(ids) != 1:
        raise ValueError(f"one prompt is expected here, got {len(ids)}")
    tokens = ids[0]
    if attention_mask is not None:
        mask = _as_mask(attention_mask).reshape(-1).bool().to(tokens.device)
        if mask.shape != tokens.shape:
            raise ValueError(f"attention_mask has {len(mask)} entries for {len(tokens)} tokens")
        shown = mask.nonzero().flatten()
        if len(shown) and int(shown[-1] - shown[0]) + 1 != len(shown):
            raise ValueError(
                "attention_mask hides tokens inside the prompt: only padding on its left or right is supported"
            )
        tokens = tokens[mask]
    prompt: list[int] = tokens.tolist()
    if not prompt:
        raise ValueError("the prompt is empty: start from at least one token, such as the tokenizer's bos_token_id")
    if min(prompt) < 0 or max(prompt) >= vocabulary:
        raise ValueError(f"the prompt holds ids outside the target's vocabulary of {vocabulary}")
    return prompt


def _are_rows(value: Any) -> bool:
    """Whether a value is a list of rows, which may differ in length."""
    listed = isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) > 0
    return listed and all(isinstance(row, Sequence | Tensor | np.ndarray) for row in value)


def _mask_rows(value: Any) -> list[Tensor]:
    mask = _as_mask(value)
    return list(mask if mask.dim() > 1 else mask[None])


def _as_mask(value: Any) -> Tensor:
    wanted = "attention_mask must hold 1 for a token and 0 for padding, in a tensor or a list"
    try:
        mask = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{wanted}, not {value!r}") from None
    # A mask that is added to scores has 0 where this one has 1.
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise ValueError(f"{wanted}, not {mask.tolist()}")
    return mask


def _as_ids(input_ids: Any) -> Tensor:
    """Token ids as a tensor `[b, L]`."""
    if isinstance(input_ids, Mapping) or hasattr(input_ids, "input_ids"):
        raise TypeError(
            f"input_ids must be a tensor of token ids, not a {type(input_ids).__name__}: pass its .input_ids"
        )
    if not isinstance(input_ids, Tensor | Sequence | np.ndarray) or isinstance(input_ids, str | bytes):
        raise TypeError(
            f"input_ids must be a tensor or a list of token ids, not a {type(input_ids).__name__}: "
            "encode the prompt first"
        )
    try:
        ids = torch.as_tensor(input_ids)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"input_ids must hold whole numbers, in one list or in a list for each prompt, not {input_ids!r}"
        ) from None
    if ids.dim() == 1:
        ids = ids[None]
    if ids.numel() and (ids.is_floating_point() or ids.dtype == torch.bool):
        raise TypeError(f"input_ids must be whole numbers (torch.long), not {ids.dtype}")
    if ids.dim() != 2:
        raise ValueError(f"input_ids must be [1, length], not {list(ids.shape)}")
    return ids
