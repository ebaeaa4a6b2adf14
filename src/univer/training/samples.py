"""Texts sampled from a target, to train a draft on what the target itself writes."""

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
from univer.training.texts import Texts, concatenate, join

# Stands in for the user's words when a chat template is split around them.
MARK = "\x00univer\x00"
# A prompt's number where a text has none and starts from the bare opening.
OPENING = -1
# The key/value caches of the texts that are sampled at once take about so many bytes, and there are at most so many.
CACHE_BYTES, MOST_AT_ONCE = 1 << 30, 256
# Texts are sampled in at least so many batches, half of them from bare openings.
LEAST_SHARDS = 8


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
    model: Any,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    tick: Callable[[int], None] | None = None,
) -> Tensor:
    """Continue prompts by tokens drawn from a model's own laws; nothing ends a text early.

    Args:
        model: a causal language model of transformers.
        prompts: token ids; shorter ones are padded on the left.
        new_tokens: tokens to draw for each.
        generator: source of the draws, on the CPU.
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
            laws = torch.softmax(logits.float() / temperature, -1)
            tokens = sample(laws, torch.rand(len(prompts), generator=generator, dtype=torch.float64))
            drawn.append(tokens)
            block, start = tokens[:, None], end
            if tick is not None:
                tick(number + 1)
    return torch.stack(drawn, 1).cpu()


def plan_shards(lengths: Sequence[int], texts: int, size: int, seed: int) -> list[list[int]]:
    """Which prompt every text of every batch starts from: in turn a batch of bare openings and one of prompts.

    Prompts of one batch have similar lengths, so that little is padded; all of them get as many texts as the others, or
    one more.

    Args:
        lengths: number of tokens of each prompt; without prompts all texts start from the opening.
        texts: how many texts there are in all.
        size: most texts of a batch.
        seed: of the choice and the order of the prompts.

    Returns:
        For every batch the numbers of its prompts, or -1 for the opening.

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
    """How many texts are sampled at once, so that their key/value caches fit into about a gigabyte.

    Args:
        config: configuration of the model.
        texts: how many texts there are in all.
        tokens: tokens of the longest text with its prompt.
        width: bytes of a number.
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
    """Sample texts in batches, each of which is kept in a file as soon as it is complete.

    Args:
        model: the target.
        tokenizer: its tokenizer.
        prompts: prompts to answer; every second batch starts from the bare opening instead.
        samples: tokens to sample in all.
        length: tokens of each text.
        temperature: of the draws.
        seed: of the draws; every batch has a generator of its own, so it does not matter where an earlier run ended.
        folder: where the files go; those that are there already are used as they are.
        tick: called with the tokens sampled so far and those of all texts; what it raises ends the sampling.

    Returns:
        The texts with their prompts.

    Raises:
        ValueError: the target has no room for the opening, or for any prompt, and so many tokens.
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
    parts, done, fresh = [], 0, len(ids)
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
        rows = [[*prompt, *row] for prompt, row in zip(given, new.tolist(), strict=True)]
        groups = [fresh + place if prompt == OPENING else prompt for place, prompt in enumerate(shard)]
        fresh += len(shard)
        parts.append(join(rows, list(map(len, given)), groups))
    return concatenate(parts)
