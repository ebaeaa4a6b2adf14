"""All checks of a target and a draft, the cheap ones first, then those that run the models."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch

from univer.doctor.identity import Identity, compare_texts
from univer.doctor.pair import check_pair
from univer.doctor.report import Finding, Report
from univer.drafting.growth.parse import TreeSpec
from univer.engine.drafts import as_draft
from univer.runtime.attention import attention_pattern
from univer.runtime.checks import readable_tokens
from univer.runtime.evaluation import evaluating
from univer.runtime.probe import check_tree_attention

PROMPTS = (
    "Name five rivers in Europe.",
    "Write a Python function that reverses a list.",
    "Repeat after me: one two three one two three one two three",
)

# Checks that run the models. They are skipped after an error.
LATER = ("tree attention", "identity")


def examine(
    target: Any,
    draft: Any,
    *,
    tokenizer: Any = None,
    draft_tokenizer: Any = None,
    prompts: Sequence[Sequence[int]] | None = None,
    new_tokens: int = 32,
    tree: TreeSpec | None = None,
    float32: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Check a target and a draft before they are used together.

    Tokenizers, vocabularies, special ids, dtypes, attention, cache and positions are checked first. If there is no
    error, a few texts are decoded greedily with trees and one token at a time: in float32, on a copy of the target, and
    in the target's own precision.

    Args:
        target: a causal language model of transformers; it is not changed.
        draft: what `univer.generate` takes.
        tokenizer: the target's tokenizer.
        draft_tokenizer: the draft's, if it runs a model of its own.
        prompts: token ids; by default three short texts, or arbitrary ids where there is no tokenizer.
        new_tokens: length of each text.
        tree: what `univer.generate` takes.
        float32: whether to make the comparison in float32, which needs memory for a copy of the target.
        progress: called with the name of the check, the number of texts done and the number of all texts.

    Returns:
        The findings.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> config = LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        ...                      num_attention_heads=2)
        >>> report = examine(LlamaForCausalLM(config).eval(), "first=1", new_tokens=8)
        >>> report.sound, report.identities[0].tokens
        (True, 24)
    """
    try:
        made = as_draft(draft, target)
    except (ValueError, TypeError) as error:
        return _cut_short([*check_pair(target, [], tokenizer), Finding("draft", "error", str(error))], *LATER)
    models = list(made.models) if made else []
    if draft_tokenizer is None and isinstance(draft, str):
        draft_tokenizer = tokenizer
    findings = check_pair(target, models, tokenizer, draft_tokenizer)
    if not Report(findings).sound:
        return _cut_short(findings, *LATER)
    findings.append(_tree_attention(target, models))
    if not Report(findings).sound:
        return _cut_short(findings, *LATER[1:])
    if tree is None and not all(attention_pattern(model.config).honours_masks for model in (target, *models)):
        tree = "chain-5"
    texts = _texts(target, tokenizer) if prompts is None else prompts
    identities: list[Identity] = []
    for name, model, reason in _precisions(target, float32):
        if model is None:
            findings.append(Finding(name, "warning", f"not compared: {reason}"))
            continue
        own = draft if isinstance(draft, str) else made
        try:
            report_progress = None if progress is None else (lambda done, total, name=name: progress(name, done, total))
            identity = compare_texts(model, own, texts, new_tokens, tree, report_progress)
        except ValueError as error:
            findings.append(Finding(name, "error", str(error)))
            continue
        identities.append(identity)
        findings.append(_identity_finding(name, identity))
    return Report(findings, identities)


def _cut_short(findings: Sequence[Finding], *skipped: str) -> Report:
    unchecked = [Finding(name, "warning", "skipped because of the error above") for name in skipped]
    return Report([*findings, *unchecked])


def _tree_attention(target: Any, models: Sequence[Any]) -> Finding:
    try:
        for role, model in (("target", target), *(("draft", model) for model in models)):
            if attention_pattern(model.config).honours_masks:
                with evaluating([model]):
                    check_tree_attention(model, role)
    except ValueError as error:
        return Finding("tree attention", "error", str(error), "choose another model, or plain decoding")
    return Finding("tree attention", "ok", "the model applies the positions and masks of a tree")


def _texts(target: Any, tokenizer: Any) -> list[list[int]]:
    if tokenizer is not None:
        from univer.models.prompts import encode

        return [encode(tokenizer, text)[0].tolist() for text in PROMPTS]
    size = readable_tokens(target)
    return [[(number + 7 * place) % size for place in range(1, 2 + 3 * number)] for number in range(1, 4)]


def _precisions(target: Any, float32: bool) -> list[tuple[str, Any, str]]:
    """Name of the comparison, the target in that precision or None, and why it is None."""
    dtype = getattr(target, "dtype", torch.float32)
    working = [(f"identity in {str(dtype).removeprefix('torch.')}", target, "")]
    if dtype == torch.float32 or not float32:
        return working
    name = "identity in float32"
    if any(parameter.is_meta for parameter in target.parameters()):
        return [(name, None, "offloaded weights cannot be copied to float32"), *working]
    try:
        return [(name, copy.deepcopy(target).float(), ""), *working]
    except (RuntimeError, TypeError, ValueError) as error:  # quantised weights raise different ones
        return [(name, None, f"the target cannot be copied to float32 ({error})"), *working]


def _identity_finding(name: str, identity: Identity) -> Finding:
    whole = f"{identity.tokens} tokens of {identity.prompts} texts compared"
    if identity.errors:
        return Finding(
            name,
            "error",
            f"{identity.errors[0]}; {whole}",
            "this is a fault of univer or of the model: please report it with the versions of torch and transformers",
        )
    if identity.differences:
        return Finding(name, "ok", f"{identity.differences[0]}; {whole}")
    return Finding(name, "ok", f"the same, {whole}")
