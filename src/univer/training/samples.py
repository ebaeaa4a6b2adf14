"""Texts sampled from a target, to train a draft on the target's own distribution."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from univer.files import replacing
from univer.laws import sample
from univer.models.prompts import encode
from univer.runtime.batch import cache_argument
from univer.runtime.cache import Place, new_cache
from univer.training.texts import Texts, join

# Placeholder for the user's words, at which a chat template is split.
MARK = "\x00univer\x00"
# The number of the prompt of texts that start from the bare opening.
OPENING = -1
# Limits of a batch: bytes of its key/value caches, and number of texts.
CACHE_BYTES, MOST_AT_ONCE = 1 << 30, 256
# The smallest number of batches; half of them start from bare openings.
LEAST_SHARDS = 8


def opening(tokenizer: Any) -> list[int]:
    """Token ids of a chat up to the user's first word.

    A chat model continues it with a prompt, an answer and further turns (Magpie, Xu et al., arXiv 2406.08464), so that
    a head can be trained without given texts.

    Args:
        tokenizer: a tokenizer of transformers.

    Returns:
        The ids; for a tokenizer without a chat template the token that starts a text.
    """
    if getattr(tokenizer, "chat_template", None):
        text = tokenizer.apply_chat_template([{"role": "user", "content": MARK}], tokenize=False)
        head, found, _ = text.partition(MARK)
        if found:
            return list(tokenizer(head, add_special_tokens=False).input_ids)
    first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    return [0 if first is None else int(first)]


def sample_texts(
    model: Any,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    tick: Callable[[int], None] | None = None,
) -> Tensor:
    """Continue prompts by tokens sampled from a model, all of them to the same number of tokens.

    Args:
        model: a causal language model of transformers.
        prompts: token ids; shorter ones are padded on the left.
        new_tokens: number of tokens to sample for each; an end-of-text token does not stop a text.
        generator: source of randomness, on the CPU.
        temperature: divides the logits, above 0.
        tick: called after every token with the number of tokens of each text so far.

    Returns:
        `[n, new_tokens]`, int64, on the CPU.
    """
    longest = max(map(len, prompts))
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    padded = bool((lengths < longest).any())
    device = model.device
    seen = (torch.arange(longest + new_tokens) >= (longest - lengths)[:, None]).to(device)
    positions = (torch.arange(longest + new_tokens) - (longest - lengths)[:, None]).clamp_min(0).to(device)
    place = Place()
    named: dict[str, Any] = {"use_cache": True, cache_argument(model) or "past_key_values": new_cache(place)}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        named["logits_to_keep"] = 1
    drawn: list[Tensor] = []
    block, start = ids.to(device), 0
    with torch.inference_mode():
        for number in range(new_tokens):
            end = start + block.shape[1]
            place.held = [start] * len(prompts)
            # Without padding no mask is given: attention runs faster without one.
            logits = model(
                input_ids=block,
                position_ids=positions[:, start:end],
                attention_mask=seen[:, :end] if padded else None,
                **named,
            ).logits[:, -1]
            rows = torch.softmax(logits.float() / temperature, -1)
            tokens = sample(rows, torch.rand(len(prompts), generator=generator, dtype=torch.float64))
            drawn.append(tokens)
            block, start = tokens[:, None], end
            if tick is not None:
                tick(number + 1)
    return torch.stack(drawn, 1).cpu()


def plan_shards(lengths: Sequence[int], texts: int, size: int, seed: int) -> list[list[int]]:
    """The prompts of the texts of every batch: batches of bare openings and batches of prompts alternate.

    Prompts of one batch have similar lengths, so that there is little padding. The numbers of texts per prompt differ
    by at most one.

    Args:
        lengths: number of tokens of each prompt; without prompts all texts start from the opening.
        texts: number of texts.
        size: largest number of texts of a batch.
        seed: seed of the choice and the order of the prompts.

    Returns:
        For every batch the indices of its prompts, or -1 for the opening.

    Example:
        >>> plan_shards([3, 9], 5, 2, seed=0)
        [[-1, -1], [0, 1], [-1]]
    """
    sizes = [min(size, texts - first) for first in range(0, texts, size)]
    shards = [[OPENING] * count for count in sizes]
    if not lengths:
        return shards
    generator = torch.Generator().manual_seed(seed)
    odd = list(range(1, len(sizes), 2))
    needed = sum(sizes[number] for number in odd)
    chosen: list[int] = []
    while len(chosen) < needed:
        chosen += torch.randperm(len(lengths), generator=generator).tolist()
    chosen = sorted(chosen[:needed], key=lambda prompt: (lengths[prompt], prompt))
    for place in torch.randperm(len(odd), generator=generator).tolist():
        number = odd[place]
        shards[number], chosen = chosen[: sizes[number]], chosen[sizes[number] :]
    return shards


def batch_size(config: Any, texts: int, tokens: int, width: int) -> int:
    """Number of texts of a batch whose key/value caches fit into about a gigabyte.

    Args:
        config: configuration of the model.
        texts: number of all texts.
        tokens: number of tokens of the longest text with its prompt.
        width: bytes per number.
    """
    heads = config.num_attention_heads
    kept = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    bytes_each: int = 2 * config.num_hidden_layers * kept * size * width * tokens
    return max(1, min(MOST_AT_ONCE, CACHE_BYTES // bytes_each, -(-texts // LEAST_SHARDS)))


def sample_shards(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    *,
    samples: int,
    length: int,
    temperature: float,
    seed: int,
    folder: Path,
    tick: Callable[[int, int], None],
) -> Texts:
    """Sample texts in batches, each of which is saved when it is complete.

    Args:
        model: the target.
        tokenizer: its tokenizer.
        prompts: prompts to answer; every second batch starts from the bare opening instead.
        samples: number of tokens to sample in all.
        length: number of tokens of each text.
        temperature: sampling temperature.
        seed: seed of the samples; every batch has its own generator, so that a resumed run samples the same texts.
        folder: folder of the files; batches that exist already are read.
        tick: called with the number of tokens sampled so far and of all; an exception that it raises stops the
            sampling.

    Returns:
        The texts with their prompts.

    Raises:
        ValueError: the target has too few positions for the opening, or for any prompt, and `length` tokens.
    """
    from safetensors.torch import load_file, save_file

    config = model.config.get_text_config()
    room = (getattr(config, "max_position_embeddings", None) or 1 << 30) - length
    ids = [ids for text in prompts if len(ids := encode(tokenizer, text)[0].tolist()) <= room]
    begin = opening(tokenizer)
    if len(begin) > room or (prompts and not ids):
        raise ValueError(f"the target has {room + length} positions, too few for a prompt and length {length}")
    texts = -(-samples // length)
    longest = max(map(len, [begin, *ids]))
    size = batch_size(config, texts, longest + length, model.dtype.itemsize)
    rows: list[list[int]] = []
    starts: list[int] = []
    groups: list[int] = []
    done, fresh = 0, len(ids)
    for number, shard in enumerate(plan_shards(list(map(len, ids)), texts, size, seed)):
        path = folder / f"{number:05d}.safetensors"
        given = [begin if prompt == OPENING else ids[prompt] for prompt in shard]
        if not path.exists():
            generator = torch.Generator().manual_seed(seed * 1_000_003 + number)
            before, count = done, len(shard)

            def so_far(tokens: int, before: int = before, count: int = count) -> None:
                tick(before + tokens * count, texts * length)

            new = sample_texts(model, given, length, generator, temperature, so_far)
            with replacing(path) as partial:
                save_file({"tokens": new.int()}, partial)
        new = load_file(path)["tokens"]
        done += new.numel()
        tick(done, texts * length)
        rows += [[*prompt, *row] for prompt, row in zip(given, new.tolist(), strict=True)]
        starts += map(len, given)
        groups += [fresh + place if prompt == OPENING else prompt for place, prompt in enumerate(shard)]
        fresh += len(shard)
    return join(rows, starts, groups)
