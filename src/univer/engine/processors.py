"""The processors of a request: those that its settings name, then the caller's, in transformers' order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from univer.engine.allowed import AllowedTokens

# Token ids `[n, L]` and the scores `[n, V]` of what may follow them -> scores `[n, V]`.
Processor = Callable[[Tensor, Tensor], Tensor]


class OccurrencePenalty:
    r"""Lowers tokens that were generated before, as the OpenAI interface defines it; the prompt does not count.

        score(x) - frequency * count(x) - presence * [count(x) > 0]

    Args:
        frequency: for every occurrence.
        presence: once.
        prompt_length: number of ids that are not counted.

    Raises:
        ValueError: a penalty is not finite.

    Example:
        >>> ids = torch.tensor([[2, 0, 1, 1]])
        >>> OccurrencePenalty(0.5, 1.0, prompt_length=2)(ids, torch.zeros(1, 3))
        tensor([[ 0., -2.,  0.]])
    """

    def __init__(self, frequency: float, presence: float, prompt_length: int) -> None:
        for name, value in (("frequency_penalty", frequency), ("presence_penalty", presence)):
            if not math.isfinite(value):
                raise ValueError(f"{name} must be a finite number, not {value}")
        self.frequency = frequency
        self.presence = presence
        self.prompt_length = prompt_length

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Penalise rows `[n, V]` by their own ids `[n, L]`."""
        generated = input_ids[:, self.prompt_length :]
        counts = torch.zeros_like(scores).scatter_add_(1, generated, torch.ones_like(generated, dtype=scores.dtype))
        return scores - self.frequency * counts - self.presence * (counts > 0)


def request_processors(
    settings: Mapping[str, Any],
    own: Sequence[Processor],
    *,
    prompt_length: int,
    max_length: int,
    eos: frozenset[int],
    device: torch.device,
    text: int = 0,
) -> list[Processor]:
    """All processors of a request, as transformers' `generate` lines them up.

    Where the caller's and a named one are of the same class, the caller's takes the place of the named one.

    Args:
        settings: named settings that have an effect.
        own: the caller's processors.
        prompt_length: number of tokens of the prompt.
        max_length: largest number of tokens, prompt included.
        eos: token ids that end the text.
        device: where the scores will lie.
        text: number of the text among those of its call.

    Raises:
        ValueError: a setting is out of its range; the message names it.
    """
    named = _named(settings, prompt_length, max_length, sorted(eos), device, text)
    replaced = {type(processor): processor for processor in reversed(own)}
    chosen = [replaced.get(type(processor), processor) for processor in named]
    return chosen + [processor for processor in own if processor not in chosen]


def _named(
    settings: Mapping[str, Any], prompt_length: int, max_length: int, eos: list[int], device: torch.device, text: int
) -> list[Processor]:
    # The rest of the engine needs the models of transformers only, not its generation.
    from transformers.generation import logits_process as classes

    def decay(value: Any) -> Processor:
        if not eos:
            raise ValueError("it raises the end-of-text token, and the request has none: pass eos_token_id")
        start, factor = value
        processor: Processor = classes.ExponentialDecayLengthPenalty((start, factor), eos, prompt_length)
        return processor

    # As in transformers, a text of one token begins behind the forced one.
    begin = prompt_length + (prompt_length == 1 and "forced_bos_token_id" in settings)
    ends = torch.tensor(eos, dtype=torch.long, device=device)
    makers: dict[str, Callable[[Any], Processor]] = {
        "sequence_bias": classes.SequenceBiasLogitsProcessor,
        "repetition_penalty": lambda value: classes.RepetitionPenaltyLogitsProcessor(float(value)),
        "no_repeat_ngram_size": classes.NoRepeatNGramLogitsProcessor,
        "bad_words_ids": lambda value: classes.NoBadWordsLogitsProcessor(value, eos or None),
        "min_length": lambda value: classes.MinLengthLogitsProcessor(value, ends),
        "min_new_tokens": lambda value: classes.MinNewTokensLengthLogitsProcessor(prompt_length, value, ends),
        "prefix_allowed_tokens_fn": lambda value: AllowedTokens(value, text),
        "forced_bos_token_id": classes.ForcedBOSTokenLogitsProcessor,
        "forced_eos_token_id": lambda value: classes.ForcedEOSTokenLogitsProcessor(max_length, value, device=device),
        "remove_invalid_values": lambda _: classes.InfNanRemoveLogitsProcessor(),
        "exponential_decay_length_penalty": decay,
        "suppress_tokens": lambda value: classes.SuppressTokensLogitsProcessor(value, device=device),
        "begin_suppress_tokens": lambda value: classes.SuppressTokensAtBeginLogitsProcessor(
            value, begin, device=device
        ),
        "frequency_penalty": lambda value: OccurrencePenalty(value, 0.0, prompt_length),
        "presence_penalty": lambda value: OccurrencePenalty(0.0, value, prompt_length),
    }
    named = []
    for name, make in makers.items():
        # A minimum of new tokens stands in for one of all tokens, and without an end of the text neither has a meaning.
        unused = name == "min_length" and "min_new_tokens" in settings
        if name not in settings or unused or (name in ("min_length", "min_new_tokens") and not eos):
            continue
        try:
            named.append(make(settings[name]))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name}={settings[name]!r}: {error}") from None
    return named
