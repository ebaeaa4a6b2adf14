"""Where a text ends: at the first end-of-sequence token, or exactly at its length limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

StopReason = Literal["eos", "length", "cancelled"]

DEFAULT_NEW_TOKENS = 128


@dataclass(frozen=True)
class StopRule:
    """Cuts blocks of committed tokens.

    Attributes:
        eos: token ids that end the text; they are kept.
        max_length: largest number of tokens, prompt included.
    """

    eos: frozenset[int]
    max_length: int

    def cut(self, block: Sequence[int], length: int) -> tuple[list[int], StopReason | None]:
        """The part of a block that belongs to the text.

        Args:
            block: new tokens.
            length: number of tokens before them.

        Returns:
            The tokens to keep, and why the text ends with them, if it does.

        Example:
            >>> StopRule(frozenset({2}), 10).cut([5, 2, 7], length=4)
            ([5, 2], 'eos')
        """
        kept = list(block[: max(self.max_length - length, 0)])
        for index, token in enumerate(kept):
            if token in self.eos:
                return kept[: index + 1], "eos"
        return kept, "length" if length + len(kept) >= self.max_length else None


def eos_tokens(eos_token_id: int | Sequence[int] | Literal["config"] | None, generation_config: Any) -> frozenset[int]:
    """The end-of-sequence ids of a request.

    Args:
        eos_token_id: one id, several, None for none, or `"config"` for those of the generation configuration.
        generation_config: the target's, or None.
    """
    ids = getattr(generation_config, "eos_token_id", None) if eos_token_id == "config" else eos_token_id
    if ids is None:
        return frozenset()
    return frozenset([int(ids)] if isinstance(ids, int) else map(int, ids))


def length_limit(
    prompt: int, max_new_tokens: int | None, max_length: int | None, generation_config: Any, context: int | None
) -> int:
    """The length at which a text ends.

    Args:
        prompt: number of tokens of the prompt.
        max_new_tokens: limit of new tokens, or None.
        max_length: limit of all tokens, or None; with both given, the stricter holds.
        generation_config: the target's, or None; its limits hold where the caller gives none.
        context: the target's context, or None.

    Returns:
        Largest number of tokens, prompt included.

    Raises:
        ValueError: a limit is negative, `max_length` is below the prompt, or the text would outgrow the context.
    """
    if context is not None and prompt > context:
        raise ValueError(f"the prompt has {prompt} tokens, the target reads at most {context}: shorten the prompt")
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
    if context is not None and limit > context:
        if not by_default:
            raise ValueError(
                f"{prompt} prompt tokens and {limit - prompt} new ones exceed the {context} positions of the target "
                f"(max_position_embeddings): ask for at most {context - prompt} new tokens"
            )
        limit = context
    return limit
