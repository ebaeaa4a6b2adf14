"""Texts sampled from a target, to train a draft on what the target itself writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from univer.engine.cache import new_cache
from univer.laws import sample

# Stands in for the user's words when a chat template is split around them.
MARK = "\x00univer\x00"


def opening(tokenizer: Any) -> list[int]:
    """Token ids of a chat up to where the user begins to write.

    A chat model that continues it writes a prompt of its own, then an answer, then the next turn (the idea of Magpie,
    Xu et al., arXiv 2406.08464), so a head can be trained without any text from outside.

    Args:
        tokenizer: a tokenizer of transformers.

    Returns:
        The ids; for a tokenizer without a chat template its first token alone.
    """
    if getattr(tokenizer, "chat_template", None):
        text = tokenizer.apply_chat_template([{"role": "user", "content": MARK}], tokenize=False)
        head, found, _ = text.partition(MARK)
        if found:
            return list(tokenizer(head, add_special_tokens=False).input_ids)
    first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    return [0 if first is None else int(first)]


def sample_texts(
    model: Any, prompts: Sequence[Sequence[int]], new_tokens: int, generator: torch.Generator, temperature: float = 1.0
) -> Tensor:
    """Continue prompts by tokens drawn from a model's own laws; nothing ends a text early.

    Args:
        model: a causal language model of transformers.
        prompts: token ids; shorter ones are padded on the left.
        new_tokens: tokens to draw for each.
        generator: source of the draws, on the CPU.
        temperature: divides the logits, above 0.

    Returns:
        `[n, new_tokens]`, int64, on the CPU.
    """
    longest = max(map(len, prompts))
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    padded = bool((lengths < longest).any())
    seen = torch.arange(longest + new_tokens) >= (longest - lengths)[:, None]
    positions = (torch.arange(longest + new_tokens) - (longest - lengths)[:, None]).clamp_min(0)
    cache, device = new_cache(), model.device
    drawn: list[Tensor] = []
    block, start = ids, 0
    with torch.inference_mode():
        for _ in range(new_tokens):
            end = start + block.shape[1]
            # Without padding no mask is given: attention runs faster without one.
            logits = model(
                input_ids=block.to(device),
                position_ids=positions[:, start:end].to(device),
                attention_mask=seen[:, :end].to(device) if padded else None,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits[:, -1]
            laws = torch.softmax(logits.float() / temperature, -1)
            tokens = sample(laws, torch.rand(len(prompts), generator=generator, dtype=torch.float64)).cpu()
            drawn.append(tokens)
            block, start = tokens[:, None], end
    return torch.stack(drawn, 1)


def batches(prompts: Sequence[Sequence[int]], size: int, opening_ids: Sequence[int]) -> Iterator[list[Sequence[int]]]:
    """Endless batches for `sample_texts`: in turn one of prompts of similar lengths, one of bare openings.

    Args:
        prompts: prompts to answer, possibly none.
        size: texts in a batch.
        opening_ids: what a text without a prompt starts from.
    """
    ordered = sorted(prompts, key=len)
    chunks = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    turn = 0
    while True:
        yield [opening_ids] * size
        if chunks:
            chunk = chunks[turn % len(chunks)]
            yield [chunk[place % len(chunk)] for place in range(size)]
            turn += 1
