"""Checks of a target and a draft that do not run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from univer.doctor.report import Finding
from univer.engine.settings import check_settings
from univer.engine.stopping import eos_tokens
from univer.runtime.attention import attention_pattern
from univer.runtime.checks import check_model, check_tokenizers, context_limit, readable_tokens


def check_pair(target: Any, models: list[Any], tokenizer: Any = None, draft_tokenizer: Any = None) -> list[Finding]:
    """Check configurations, tokenizers and dtypes.

    Args:
        target: the target.
        models: the models that the draft runs.
        tokenizer: the target's tokenizer, or None.
        draft_tokenizer: that of the draft, or None.

    Returns:
        One finding per check; the error alone where the target is of a kind that is not supported.
    """
    kind = _attempt("target", lambda: check_model(target, "target"), type(target).__name__, "choose another target")
    if kind.level == "error":
        return [kind]
    return [
        kind,
        _tokenizers(tokenizer, draft_tokenizer, models),
        _vocabularies(target, models, tokenizer),
        _special_ids(target, tokenizer),
        _dtypes(target, models),
        _attention(target, models),
        _cache(target),
        _attempt(
            "settings",
            lambda: check_settings(getattr(target, "generation_config", None), {}, greedy=False),
            "all settings of the generation configuration are supported",
        ),
        _positions(target, models),
    ]


def _attempt(name: str, check: Callable[[], object], fine: str, advice: str = "") -> Finding:
    """The finding of a check that raises."""
    try:
        check()
    except (ValueError, TypeError) as error:
        return Finding(name, "error", str(error), advice)
    return Finding(name, "ok", fine)


def _tokenizers(ours: Any, other: Any, models: list[Any]) -> Finding:
    if not models:
        return Finding("tokenizers", "ok", "the draft runs no model of its own")
    if ours is None or other is None:
        return Finding(
            "tokenizers",
            "warning",
            "not compared: the tokenizer of the draft or of the target was not given",
            "pass both, unless the draft is part of the target",
        )
    return _attempt("tokenizers", lambda: check_tokenizers(ours, other), f"the same {len(ours.get_vocab())} tokens")


def _vocabularies(target: Any, models: list[Any], tokenizer: Any) -> Finding:
    size, others = readable_tokens(target), {readable_tokens(model) for model in models}
    if tokenizer is not None and max(tokenizer.get_vocab().values()) >= size:
        return Finding(
            "vocabulary",
            "error",
            f"the tokenizer has ids up to {max(tokenizer.get_vocab().values())}, the target has {size} embeddings",
            "use the tokenizer that the target was trained with",
        )
    if others <= {size}:
        return Finding("vocabulary", "ok", f"{size} ids")
    sizes = ", ".join(map(str, sorted(others)))
    return Finding(
        "vocabulary",
        "ok",
        f"the target has {size} ids, the draft {sizes}: ids that only one of them has are never drafted",
    )


def _special_ids(target: Any, tokenizer: Any) -> Finding:
    config = getattr(target, "generation_config", None)
    size, advice = readable_tokens(target), "correct generation_config.eos_token_id"
    try:
        ends = eos_tokens("config", config)
    except (ValueError, TypeError) as error:
        return Finding("special ids", "error", str(error), advice)
    of_tokenizer = getattr(tokenizer, "eos_token_id", None)
    if outside := [token for token in ends if not 0 <= token < size]:
        return Finding(
            "special ids",
            "error",
            f"eos_token_id {outside[0]} is outside the target's {size} ids",
            advice,
        )
    if not ends:
        return Finding(
            "special ids", "warning", "no end-of-sequence id: texts end at the length limit only", "pass eos_token_id"
        )
    if of_tokenizer is not None and of_tokenizer not in ends:
        return Finding(
            "special ids",
            "warning",
            f"texts end with {sorted(ends)} by the generation configuration, the tokenizer's end is {of_tokenizer}",
            "pass eos_token_id if the tokenizer is right",
        )
    return Finding("special ids", "ok", f"texts end with {sorted(ends)}")


def _dtypes(target: Any, models: list[Any]) -> Finding:
    names = [str(getattr(model, "dtype", torch.float32)).removeprefix("torch.") for model in (target, *models)]
    where = [str(getattr(model, "device", "cpu")) for model in (target, *models)]
    what = ", the draft ".join(f"{dtype} on {device}" for dtype, device in zip(names, where, strict=True))
    if names[0] == "float32":
        return Finding("dtype", "ok", f"the target {what}: greedy text equals plain decoding, token for token")
    if names[0] == "float16" and where[0] == "cpu":
        return Finding("dtype", "warning", f"the target {what}: slow on a CPU", "load it in float32 or bfloat16")
    return Finding(
        "dtype", "ok", f"the target {what}: where two logits nearly tie, greedy text may differ from plain decoding"
    )


def _attention(target: Any, models: list[Any]) -> Finding:
    patterns = [attention_pattern(model.config) for model in (target, *models)]
    what = ", the draft's ".join(pattern.backend for pattern in patterns)
    if all(pattern.honours_masks for pattern in patterns):
        return Finding("attention", "ok", f"the target's back end {what}: trees may branch")
    return Finding(
        "attention",
        "warning",
        f"the target's back end {what}: causal masks only, so one text at a time and no branching trees",
        "load with attn_implementation='sdpa' or 'eager', or use tree='chain-5'",
    )


def _cache(target: Any) -> Finding:
    windows = dict.fromkeys(attention_pattern(target.config).windows.values())
    kinds = ["full attention" if window is None else f"sliding windows of {window}" for window in windows]
    return Finding("cache", "ok", f"{' and '.join(kinds)}: rejected tokens can be removed from every layer")


def _positions(target: Any, models: list[Any]) -> Finding:
    limit, others = context_limit(target), [context_limit(model) for model in models]
    shortest = min((other for other in others if other is not None), default=None)
    if shortest is not None and (limit is None or shortest < limit):
        return Finding(
            "positions",
            "warning",
            f"the draft has {shortest} positions, the target {limit or 'no limit'}",
            f"keep prompt and answer within {shortest} tokens together: beyond them nothing is drafted",
        )
    return Finding("positions", "ok", f"texts of up to {limit} tokens" if limit else "no limit in the configuration")
