"""The engine as transformers' `custom_generate`: `model.generate(..., custom_generate=univer.hf(draft=...))`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import update_wrapper
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.generation import (
    EncoderNoRepeatNGramLogitsProcessor,
    EncoderRepetitionPenaltyLogitsProcessor,
    EosTokenCriteria,
    GenerateDecoderOnlyOutput,
    LogitsProcessorList,
    MaxLengthCriteria,
    PrefixConstrainedLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    StoppingCriteriaList,
    SynthIDTextWatermarkLogitsProcessor,
    UnbatchedClassifierFreeGuidanceLogitsProcessor,
)

from univer.couplings.order import ORDERS
from univer.drafting.growth.parse import parse_tree
from univer.engine.allowed import AllowedTokens
from univer.engine.engine import Engine
from univer.engine.options import Options, prompt_tokens
from univer.engine.row import Row
from univer.engine.settings import applied_settings, check_tokens
from univer.engine.stopping import Criterion, holds
from univer.engine.transformers_cache import check_cache, fill_cache, read_cache
from univer.methods import resolve
from univer.runtime.checks import readable_tokens
from univer.runtime.guards import name_of

# Options of `generate` that are the drop-in's; all others come from transformers.
OWN_OPTIONS = ("method", "tree", "order", "seed", "generator", "draft_temperature", "draft_sampling")
# What transformers hands on for the model's own pass, which the engine makes itself.
CACHES = ("cache", "past_key_values")
HANDED_ON = ("attention_mask", "position_ids", "cache_position", "use_cache", "logits_to_keep", *CACHES)
# Settings that ask for something else than one text, sampled or greedy, with the values that do not.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "num_beams": (None, 1),
    "output_attentions": (None, False),
    "output_hidden_states": (None, False),
    "penalty_alpha": (None, 0.0),
    "dola_layers": (None,),
    "cache_implementation": (None, "dynamic"),
    "prompt_lookup_num_tokens": (None,),
    "assistant_early_exit": (None,),
}
# They keep a state from call to call, run the model themselves, or count on one row of scores for each text.
FOREIGN_PROCESSORS = (
    EncoderNoRepeatNGramLogitsProcessor,
    EncoderRepetitionPenaltyLogitsProcessor,
    SynthIDTextWatermarkLogitsProcessor,
    UnbatchedClassifierFreeGuidanceLogitsProcessor,
)


def hf(draft: Any, **options: Any) -> DropIn:
    """Let transformers' own `generate` decode with a draft and a lossless verification method.

    `model.generate(**inputs, custom_generate=univer.hf(draft="lookup"))` takes its settings, processors, stopping
    criteria, streamer and cache as always, and returns what it always returns; what cannot be honoured is refused by
    name before the first token. Under sampling the texts have the law of `model.generate` without the draft, but not
    the same tokens for a seed; greedy texts are the same token for token in float32.

    Args:
        draft: as for `univer.generate`.
        options: of `univer.generate`: `method`, `tree`, `order`, `seed`, `generator`, `draft_temperature` or
            `draft_sampling`. Without `seed` and `generator` every call draws new texts, whatever torch's global seed.

    Returns:
        What `custom_generate` takes; it can be used for any number of calls.

    Raises:
        TypeError: an option of another name.
        ValueError: an option out of range.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
        >>> model = LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes)).eval()
        >>> prompt = torch.tensor([[5, 7]])
        >>> model.generate(prompt, custom_generate=hf("lookup"), max_new_tokens=6, eos_token_id=None).shape
        torch.Size([1, 8])
    """
    return DropIn(draft, options)


class DropIn:
    """What `hf` returns: transformers calls it in place of its own decoding loop.

    Args:
        draft: as for `univer.generate`.
        options: those of `hf`.
    """

    def __init__(self, draft: Any, options: Mapping[str, Any]) -> None:
        unknown = sorted(options.keys() - set(OWN_OPTIONS))
        if unknown:
            known = {entry.name for entry in fields(Options)}
            where = "pass it to model.generate" if unknown[0] in known else f"use {', '.join(OWN_OPTIONS)}"
            raise TypeError(f"univer.hf() has no option {unknown[0]!r}: {where}")
        # Whether there are as many seeds as texts is seen where the texts are known.
        Options(**options)
        resolve(options.get("method", "univer"))
        if options.get("tree") is not None:
            parse_tree(options["tree"])
        if options.get("order") not in (None, *ORDERS):
            raise ValueError(f"unknown order {options['order']!r}: use one of {', '.join(ORDERS)}")
        self.draft, self.options = draft, dict(options)

    def __call__(
        self,
        model: Any,
        input_ids: Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: Any,
        **model_kwargs: Any,
    ) -> Tensor | GenerateDecoderOnlyOutput:
        """Decode.

        Args:
            model: the target.
            input_ids: `[b, L]`, padded on the left.
            logits_processor: all processors and warpers of the call.
            stopping_criteria: all criteria of the call.
            generation_config: settings of the call.
            model_kwargs: what transformers hands on to the model.

        Returns:
            Token ids `[b, L + n]`, or transformers' output object where `return_dict_in_generate` is set.

        Raises:
            ValueError: something was asked for that would have to be dropped; the message names it.
        """
        # transformers 5.20 to 5.24 keep these from a callable; they are in the frame that calls.
        caller = sys._getframe(1).f_locals
        streamer = caller.get("streamer")
        if caller.get("assistant_model") is not None:
            raise ValueError("assistant_model is not supported with univer.hf: name the draft there")
        _check(generation_config, logits_processor, model_kwargs)
        gaps = _gaps(input_ids, model_kwargs)
        vocabulary = readable_tokens(model)
        check_tokens(applied_settings(generation_config, {}), vocabulary)
        prompts = [prompt_tokens(ids[gap:], None, vocabulary) for ids, gap in zip(input_ids, gaps, strict=True)]
        if streamer is not None and len(gaps) > 1:
            raise ValueError(f"a streamer takes one text, there are {len(gaps)}")
        width, as_dict = input_ids.shape[1], bool(generation_config.return_dict_in_generate)
        cache = next((model_kwargs[name] for name in CACHES if model_kwargs.get(name) is not None), None)
        check_cache(cache, gaps, width)
        past = None if cache is None else read_cache(cache, gaps[0], width)
        common: dict[str, Any] = {
            **self.options,
            "temperature": 1.0 if generation_config.do_sample else 0.0,
            # As in transformers, a criterion that holds at the prompt already is first asked after a token.
            "max_new_tokens": max(1, _length_limit(stopping_criteria, generation_config) - width),
            "eos_token_id": _ends(stopping_criteria),
            "output_scores": as_dict and bool(generation_config.output_scores),
            "output_logits": as_dict and bool(generation_config.output_logits),
            "streamer": None if streamer is None else _AfterThePrompt(streamer),
            # All that the call's configuration asks for is in the processors and criteria already.
            "generation_config": GenerationConfig(),
        }
        engine = Engine(model, self.draft)
        rows = []
        criteria = [entry for entry in stopping_criteria if type(entry) not in (MaxLengthCriteria, EosTokenCriteria)]
        # As in transformers, where nothing is an end of the text a finished one goes on until all are finished.
        together = None
        if len(gaps) > 1 and criteria and not any(hasattr(entry, "eos_token_id") for entry in stopping_criteria):
            together = _EndTogether(criteria, len(gaps))
        streams = Options(**self.options).random_streams(len(gaps))
        for row, (ids, gap, own) in enumerate(zip(input_ids, gaps, streams, strict=True)):
            request = Options(
                **common,
                logits_processor=[_padded(_of_row(entry, row), ids[:gap]) for entry in logits_processor],
                stopping_criteria=[
                    _padded(entry, ids[:gap]) for entry in (criteria if together is None else [together.of(row)])
                ],
            )
            rows.append(engine.enter(prompts[row], request, {}, own, past, keep_entries=cache is not None))
        while engine.busy:
            engine.step()
            if error := next((row.error for row in rows if row.error is not None), None):
                raise error
        if together is not None:
            together.cut(rows, gaps)
        sequences = _sequences(input_ids, gaps, rows, _filler(generation_config))
        if cache is not None:
            fill_cache(cache, rows, gaps, sequences.shape[1] - 1)
        if not as_dict:
            return sequences
        longest = sequences.shape[1] - width
        # The field was called past_key_values before.
        known = {field.name for field in fields(GenerateDecoderOnlyOutput)}
        return GenerateDecoderOnlyOutput(
            sequences=sequences,
            scores=_by_step([row.outputs.scores for row in rows], longest),
            logits=_by_step([row.outputs.logits for row in rows], longest),
            **{next(name for name in CACHES if name in known): cache},
        )


class _AfterThePrompt:
    """A streamer that was given the prompt already."""

    def __init__(self, streamer: Any) -> None:
        self._streamer, self._begun = streamer, False
        self.end = streamer.end

    def put(self, value: Tensor) -> None:
        if self._begun:
            self._streamer.put(value)
        self._begun = True


class _EndTogether:
    """Ends all texts at the length at which the last one of them is finished.

    Args:
        criteria: those of the call.
        texts: number of texts.
    """

    def __init__(self, criteria: Sequence[Criterion], texts: int) -> None:
        self._criteria = criteria
        # Number of tokens, padding included, at which a criterion first held for each text.
        self._finished: list[float] = [math.inf] * texts

    def of(self, row: int) -> Criterion:
        """The criterion of one text."""

        def all_finished(ids: Tensor, scores: Any) -> bool:
            # All are asked, whatever the first says.
            answers = [holds(criterion, ids, scores) for criterion in self._criteria]
            if any(answers):
                self._finished[row] = min(self._finished[row], ids.shape[1])
            return ids.shape[1] >= max(self._finished)

        return all_finished

    def cut(self, rows: Sequence[Row], gaps: Sequence[int]) -> None:
        """Take from the texts what went beyond that length before it was known."""
        for row, gap in zip(rows, gaps, strict=True):
            row.cut(int(min(max(self._finished) - gap, len(row.committed))))


def _of_row(processor: Any, row: int) -> Any:
    """A processor for one text of the batch, where it takes the place of a row for the number of a text."""
    if isinstance(processor, PrefixConstrainedLogitsProcessor):
        return AllowedTokens(processor._prefix_allowed_tokens_fn, row // processor._num_beams)
    ignored = getattr(processor, "prompt_ignore_length", None)
    if isinstance(processor, RepetitionPenaltyLogitsProcessor) and isinstance(ignored, Tensor):
        return RepetitionPenaltyLogitsProcessor(processor.penalty, int(ignored[row]))
    return processor


def _padded(call: Callable[..., Any], padding: Tensor) -> Callable[..., Any]:
    """A processor or criterion that is shown a text with the padding before its prompt, as transformers shows it."""
    if not len(padding):
        return call

    def shown(ids: Tensor, scores: Any, **named: Any) -> Any:
        return call(torch.cat([padding.to(ids.device).expand(len(ids), -1), ids], -1), scores, **named)

    update_wrapper(shown, call, updated=())
    # What messages call it; an object has no name that could be taken over.
    shown.__name__ = name_of(call)
    return shown


def _length_limit(criteria: Sequence[Any], config: Any) -> int:
    """Most tokens of a text, padding included: the caller's own criterion takes the place of the configuration's."""
    return int(min((own.max_length for own in criteria if type(own) is MaxLengthCriteria), default=config.max_length))


def _ends(criteria: Sequence[Any]) -> list[int]:
    """Token ids that end a text, likewise."""
    return [token for own in criteria if type(own) is EosTokenCriteria for token in own.eos_token_id.flatten().tolist()]


def _check(config: Any, processors: Sequence[Any], handed_on: Mapping[str, Any]) -> None:
    """Refuse what the engine would have to drop."""
    for name, harmless in NEUTRAL.items():
        value = getattr(config, name, None)
        if value not in harmless:
            raise ValueError(f"{name}={value!r} is not supported with univer.hf")
    for processor in processors:
        if isinstance(processor, FOREIGN_PROCESSORS):
            raise ValueError(
                f"{type(processor).__name__} cannot follow the branches of a tree: it is not a function of a text and "
                "its scores"
            )
    unknown = [name for name, value in handed_on.items() if name not in HANDED_ON and value is not None]
    if unknown:
        raise ValueError(f"{unknown[0]} is not supported with univer.hf: the model is given token ids alone")


def _gaps(input_ids: Tensor, handed_on: Mapping[str, Any]) -> list[int]:
    """Tokens of padding before each prompt.

    Raises:
        ValueError: the mask has other gaps, or positions were given that are not those of the mask.
    """
    mask = handed_on.get("attention_mask")
    width = input_ids.shape[1]
    if mask is None:
        gaps = [0] * len(input_ids)
        mask = torch.ones_like(input_ids)
    else:
        mask = mask[:, -width:].to(input_ids.device).long()
        gaps = (width - mask.sum(-1)).tolist()
        if any(bool(row[:gap].any()) for row, gap in zip(mask, gaps, strict=True)):
            raise ValueError("attention_mask hides tokens inside or after a prompt: pad on the left")
    if width in gaps:
        raise ValueError(f"prompt {gaps.index(width)} is empty: start from at least one token")
    positions = handed_on.get("position_ids")
    if positions is not None:
        expected = (mask.cumsum(-1) - 1)[:, -positions.shape[-1] :]
        shown = mask[:, -positions.shape[-1] :].bool()
        if not torch.equal(positions.to(expected)[shown], expected[shown]):
            raise ValueError("position_ids other than those of the attention_mask are not supported with univer.hf")
    return gaps


def _filler(config: Any) -> int:
    """The padding token that transformers has settled on, which without one of its own is an end-of-text token."""
    settled = getattr(config, "_pad_token_tensor", None)
    padding = config.pad_token_id if settled is None else settled
    return 0 if padding is None else int(padding)


def _sequences(input_ids: Tensor, gaps: Sequence[int], rows: Sequence[Row], filler: int) -> Tensor:
    """Prompts as they were given, then the new tokens, shorter texts filled up on the right."""
    width = input_ids.shape[1]
    new = [row.committed[width - gap :] for row, gap in zip(rows, gaps, strict=True)]
    longest = max(map(len, new))
    filled = torch.tensor([[*own, *[filler] * (longest - len(own))] for own in new], dtype=torch.long)
    return torch.cat([input_ids, filled.to(input_ids.device).view(len(new), longest)], -1)


def _by_step(rows: Sequence[Sequence[Tensor] | None], longest: int) -> tuple[Tensor, ...] | None:
    """Rows of scores `[b, V]` by step; those of a text that has ended are zeros."""
    present = [own for own in rows if own is not None]
    if len(present) < len(rows):
        return None
    if not longest:
        return ()
    blank = torch.zeros_like(next(own[0] for own in present if own))
    return tuple(torch.stack([own[step] if step < len(own) else blank for own in present]) for step in range(longest))
