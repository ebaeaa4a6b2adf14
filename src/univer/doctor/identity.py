"""Greedy texts of the tree engine compared with plain decoding: where they differ, and whether that is a tie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, GenerationConfig

from univer.drafting.growth.parse import TreeSpec
from univer.engine.api import generate
from univer.runtime.batch import cache_argument, input_device
from univer.runtime.evaluation import evaluating

# How far below the best logit a token may be for rounding to put it first, as a fraction of the largest logit: a pass
# over several tokens sums in another order than a pass over one, and the difference grows from layer to layer.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@dataclass(frozen=True)
class Difference:
    """The first step at which two texts differ.

    Attributes:
        prompt: number of the prompt.
        step: number of the new token, from 0.
        plain: the token of plain decoding.
        tree: the token of the tree engine.
        gap: plain decoding's best logit minus its second best.
        behind: plain decoding's best logit minus the logit of the tree engine's token.
        tolerance: the largest `behind` that counts as a tie.
    """

    prompt: int
    step: int
    plain: int
    tree: int
    gap: float
    behind: float
    tolerance: float

    @property
    def tie(self) -> bool:
        """Whether rounding explains the difference."""
        return self.behind <= self.tolerance

    def __str__(self) -> str:
        kind = "a floating-point tie" if self.tie else "more than rounding can explain"
        return (
            f"prompt {self.prompt}, step {self.step}: token {self.tree} instead of {self.plain}, its logit is "
            f"{self.behind:.3g} lower (tolerance {self.tolerance:.3g}; the two best are {self.gap:.3g} apart): {kind}"
        )


@dataclass(frozen=True)
class Identity:
    """A comparison of texts in one precision.

    Attributes:
        dtype: the target's.
        prompts: number of prompts.
        tokens: number of new tokens that were compared, up to the first difference of each text.
        differences: the first one of each text that differs.
    """

    dtype: str
    prompts: int
    tokens: int
    differences: list[Difference] = field(default_factory=list)

    @property
    def errors(self) -> list[Difference]:
        """Differences that rounding does not explain."""
        return [difference for difference in self.differences if not difference.tie]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain numbers, text and lists."""
        return asdict(self) | {"differences": [asdict(entry) | {"tie": entry.tie} for entry in self.differences]}


def compare_texts(
    target: Any,
    draft: Any,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    tree: TreeSpec | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Identity:
    """Decode greedily with and without trees.

    Args:
        target: a causal language model.
        draft: what `univer.generate` takes.
        prompts: token ids.
        new_tokens: length of each text.
        tree: what `univer.generate` takes.
        progress: called with the number of texts compared so far, and the number of all texts.

    Returns:
        Where the texts differ.

    Raises:
        ValueError: the engine does not support the request.
    """
    dtype = getattr(target, "dtype", torch.float32)
    differences: list[Difference] = []
    compared = 0
    for number, prompt in enumerate(prompts):
        options: dict[str, Any] = {"temperature": 0, "max_new_tokens": new_tokens, "eos_token_id": None, "tree": tree}
        # Settings of the model's own configuration would apply to one side only.
        result = generate(target, draft, torch.tensor([list(prompt)]), generation_config=GenerationConfig(), **options)
        text = result.texts[0][len(prompt) :]
        expected, rows = decode_plainly(target, prompt, new_tokens)
        step = next((i for i, pair in enumerate(zip(text, expected, strict=True)) if pair[0] != pair[1]), None)
        compared += new_tokens if step is None else step + 1
        if step is not None:
            differences.append(_difference(number, step, text[step], rows[step], TOLERANCE.get(dtype, 3e-2)))
        if progress is not None:
            progress(number + 1, len(prompts))
    return Identity(str(dtype).removeprefix("torch."), len(prompts), compared, differences)


def _difference(prompt: int, step: int, token: int, row: Tensor, tolerance: float) -> Difference:
    scores = row.double()
    best, second = scores.topk(2).values.tolist()
    behind = best - scores[token].item()
    return Difference(
        prompt, step, int(row.argmax()), token, best - second, behind, tolerance * scores.abs().max().item()
    )


def decode_plainly(target: Any, prompt: Sequence[int], new_tokens: int) -> tuple[list[int], list[Tensor]]:
    """Greedy decoding with one token per pass, by the model's own cache, masks and positions, without the engine.

    Args:
        target: a causal language model.
        prompt: token ids.
        new_tokens: number of tokens.

    Returns:
        The new tokens, and for each the logits `[V]` it was chosen from, on the CPU.
    """
    cache = DynamicCache(config=target.config)
    named: dict[str, Any] = {cache_argument(target) or "cache": cache, "use_cache": True}
    text, rows = list(prompt), []
    device, unread = input_device(target), list(prompt)
    with evaluating([target]):
        for _ in range(new_tokens):
            row = target(input_ids=torch.tensor([unread], device=device), **named).logits[0, -1]
            rows.append(row.cpu())
            unread = [int(row.argmax())]
            text += unread
    return text[len(prompt) :], rows
