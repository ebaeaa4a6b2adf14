"""Where a text ends: at the first token that a stop holds for, or exactly at its length limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from univer.engine.settings import token_ids
from univer.runtime.guards import name_of, without_inference_mode

StopReason = Literal["eos", "stop_string", "criterion", "time", "length", "cancelled"]

DEFAULT_NEW_TOKENS = 128

# Given the ids `[1, L]` of a text and the scores of its new tokens (None where they are not kept): whether it ends.
Criterion = Callable[[Tensor, tuple[Tensor, ...] | None], Any]


@dataclass(frozen=True)
class StopRule:
    """Cuts blocks of committed tokens.

    Every token of a block is looked at in order, as if it were the newest of the text, so that nothing behind the first
    stop is kept. Where several hold at one token, the first of this order is named.

    Attributes:
        eos: token ids that end the text; they are kept.
        max_length: largest number of tokens, prompt included.
        stop_strings: tells whether the newest token completes a stop string; the token is kept.
        criteria: the caller's, asked once after every token that is kept.
        deadline: reading of `time.monotonic` after which no further round is played; the block at hand is kept.
    """

    eos: frozenset[int]
    max_length: int
    stop_strings: Criterion | None = None
    criteria: Sequence[Criterion] = ()
    deadline: float = math.inf

    @property
    def only_length(self) -> bool:
        """Whether nothing but its length can end a text."""
        return not (self.eos or self.stop_strings or self.criteria) and self.deadline == math.inf

    def cut(
        self, block: Sequence[int], committed: Sequence[int], scores: Sequence[Tensor] | None = None
    ) -> tuple[list[int], StopReason | None]:
        """The part of a block that belongs to the text.

        Args:
            block: new tokens.
            committed: the tokens before them.
            scores: the rows `[V]` of all new tokens of the text, those of the block at the end, for the criteria.

        Returns:
            The tokens to keep, and why the text ends with them, if it does.

        Example:
            >>> StopRule(frozenset({2}), 10).cut([5, 2, 7], committed=[4, 4, 4, 4])
            ([5, 2], 'eos')
        """
        kept = list(block[: max(self.max_length - len(committed), 0)])
        asked = [criterion for criterion in (self.stop_strings, *self.criteria) if criterion is not None]
        ids = torch.tensor([[*committed, *kept]]) if asked else torch.empty(1, 0)
        for count in range(1, len(kept) + 1):
            text = ids[:, : len(committed) + count]
            seen = None if scores is None else tuple(row[None] for row in scores[: len(scores) - len(block) + count])
            # Every criterion is asked about every token, whatever the others say, as in transformers.
            string = self.stop_strings is not None and holds(self.stop_strings, text, seen)
            ended = [holds(criterion, text, seen) for criterion in self.criteria]
            if kept[count - 1] in self.eos:
                return kept[:count], "eos"
            if string:
                return kept[:count], "stop_string"
            if any(ended):
                return kept[:count], "criterion"
        if len(committed) + len(kept) >= self.max_length:
            return kept, "length"
        return kept, "time" if time.monotonic() > self.deadline else None


def holds(criterion: Criterion, text: Tensor, scores: tuple[Tensor, ...] | None) -> bool:
    """The answer of a criterion of the caller's.

    Args:
        criterion: the criterion.
        text: ids `[1, L]`.
        scores: the rows `[1, V]` of its new tokens, or None.

    Raises:
        TypeError: the answer is no truth value.
        ValueError: there are several answers.
    """
    with without_inference_mode():
        answer = criterion(text.clone(), scores)
        try:
            verdict = torch.as_tensor(answer)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(
                f"the stopping criterion {name_of(criterion)} answered {answer!r}: return True where the text ends, "
                "else False"
            ) from None
        if verdict.numel() != 1:
            raise ValueError(
                f"the stopping criterion {name_of(criterion)} gave {verdict.numel()} answers: criteria see one text at "
                "a time, ids [1, L], so return one truth value"
            )
        return bool(verdict)


def stop_string_criterion(stop_strings: str | Sequence[str], tokenizer: Any) -> Criterion:
    """Tells whether the newest token of a text completes a stop string.

    This is transformers' own criterion, so that the text ends with the same token: it knows the strings that a token
    holds in its middle, and those that began in the prompt.

    Args:
        stop_strings: one or several.
        tokenizer: the target's.

    Raises:
        ValueError: there is no tokenizer, or a string is empty.
        TypeError: a stop string is no text.
    """
    # The rest of the engine needs the models of transformers only, not its generation.
    from transformers import StopStringCriteria

    strings = [stop_strings] if isinstance(stop_strings, str) else list(stop_strings)
    if not all(isinstance(string, str) for string in strings):
        raise TypeError(f"stop_strings must be a text or a list of texts, not {stop_strings!r}")
    if not all(strings):
        raise ValueError("stop_strings holds an empty text, which would end every text at once")
    if tokenizer is None:
        raise ValueError("stop_strings needs the target's tokenizer: pass tokenizer=")
    criterion: Criterion = StopStringCriteria(tokenizer, strings)
    return criterion


def deadline(max_time: float | None) -> float:
    """The reading of `time.monotonic` at which `max_time` seconds from now have passed.

    Raises:
        ValueError: `max_time` is negative or no number.
    """
    if max_time is None:
        return math.inf
    if isinstance(max_time, bool) or not isinstance(max_time, int | float) or not max_time >= 0:
        raise ValueError(f"max_time must be a number of seconds of at least 0, not {max_time!r}")
    return time.monotonic() + max_time


def eos_tokens(eos_token_id: int | Sequence[int] | Literal["config"] | None, generation_config: Any) -> frozenset[int]:
    """The end-of-sequence ids of a request.

    Args:
        eos_token_id: one id, several, None for none, or `"config"` for those of the generation configuration. As in
            transformers, -1 is the id of no token.
        generation_config: the target's, or None.

    Raises:
        TypeError: an id is no whole number.
        ValueError: an id is below -1.

    Example:
        >>> sorted(eos_tokens([2, 7, -1], None))
        [2, 7]
    """
    from_config = isinstance(eos_token_id, str) and eos_token_id == "config"
    found = getattr(generation_config, "eos_token_id", None) if from_config else eos_token_id
    if found is None:
        return frozenset()
    ids = token_ids("eos_token_id", found)
    if min(ids, default=0) < -1:
        raise ValueError(f"eos_token_id holds {min(ids)}, which is the id of no token; None is for no end of the text")
    return frozenset(ids) - {-1}


def length_limit(
    prompt: int,
    max_new_tokens: int | None,
    max_length: int | None,
    generation_config: Any,
    positions: float = math.inf,
) -> int:
    """The length at which a text ends.

    Args:
        prompt: number of tokens of the prompt.
        max_new_tokens: limit of new tokens, or None.
        max_length: limit of all tokens, or None; with both given, the stricter holds.
        generation_config: the target's, or None; its limits hold where the caller gives none.
        positions: those of the target; only a limit that the caller gives may exceed them.

    Returns:
        Largest number of tokens, prompt included.

    Raises:
        ValueError: a limit is negative, or `max_length` is below the prompt.
    """
    by_default = max_new_tokens is None and max_length is None
    if by_default:
        max_new_tokens = getattr(generation_config, "max_new_tokens", None)
        max_length = getattr(generation_config, "max_length", None) if max_new_tokens is None else None
        if max_new_tokens is None and max_length is None:
            max_new_tokens = DEFAULT_NEW_TOKENS
    if max_new_tokens is not None and max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must not be negative, got {max_new_tokens}")
    if max_length is not None and max_length < prompt:
        raise ValueError(f"max_length={max_length} is below the {prompt} tokens of the prompt: use max_new_tokens")
    limit = min(
        prompt + max_new_tokens if max_new_tokens is not None else max_length or prompt,
        max_length if max_length is not None else prompt + (max_new_tokens or 0),
    )
    return int(min(limit, positions)) if by_default else limit
