"""Texts as token ids: selection, division into training and validation, and the draft vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Number of validation texts: this share of all texts, and at most this many.
VALIDATION_SHARE, VALIDATION_MOST = 0.05, 64


@dataclass(frozen=True)
class Texts:
    """Texts of different lengths.

    Attributes:
        tokens: `[T]`, int32: the token ids of all texts, one text after the other.
        lengths: `[n]`, int64: number of tokens of each text.
        starts: `[n]`, int64: number of tokens of a text's prompt, which are not predicted.
        groups: `[n]`, int64: texts with the same number come from the same prompt or document.
    """

    tokens: Tensor
    lengths: Tensor
    starts: Tensor
    groups: Tensor

    def __len__(self) -> int:
        return len(self.lengths)

    def rows(self) -> Iterator[Tensor]:
        """The texts, one after the other."""
        return iter(torch.split(self.tokens, self.lengths.tolist()))

    def select(self, chosen: Sequence[int]) -> Texts:
        """A selection of the texts.

        Args:
            chosen: indices of texts, in the order of the selection.
        """
        index = torch.tensor(list(chosen), dtype=torch.long)
        rows = list(self.rows())
        tokens = torch.cat([rows[place] for place in chosen]) if len(index) else self.tokens[:0]
        return Texts(tokens, self.lengths[index], self.starts[index], self.groups[index])

    def without(self, unroll: int) -> Texts:
        """The texts without repeated ones and without those too short for drafting.

        Args:
            unroll: number of drafting steps that at least one position of a text must have room for.
        """
        seen: set[bytes] = set()
        chosen = []
        fits = (self.lengths > (self.starts - 2).clamp_min(0) + unroll).tolist()
        for number, row in enumerate(self.rows()):
            content = row.numpy().tobytes()
            if fits[number] and content not in seen:
                seen.add(content)
                chosen.append(number)
        return self.select(chosen)


def join(rows: Sequence[Sequence[int]], starts: Sequence[int], groups: Sequence[int]) -> Texts:
    """Texts from lists of token ids.

    Args:
        rows: the token ids of each text.
        starts: see `Texts`.
        groups: see `Texts`.

    Example:
        >>> join([[5, 6, 7], [8]], [0, 0], [0, 1]).lengths
        tensor([3, 1])
    """
    flat = [token for row in rows for token in row]
    numbers = [list(map(len, rows)), list(starts), list(groups)]
    lengths, first, group = (torch.tensor(values, dtype=torch.long) for values in numbers)
    return Texts(torch.tensor(flat, dtype=torch.int32), lengths, first, group)


def split(texts: Texts, needed: int, seed: int) -> tuple[Texts, Texts]:
    """Divide texts into training and validation texts, with no prompt and no document in both.

    Where there are too few documents for that, their pieces are divided one by one.

    Args:
        texts: more than `needed` texts, without repeated ones.
        needed: smallest number of training texts.
        seed: seed of the choice.

    Returns:
        The training texts, and at most 64 validation texts.
    """
    generator = torch.Generator().manual_seed(seed)
    wanted = max(1, min(VALIDATION_MOST, round(VALIDATION_SHARE * len(texts)), len(texts) - needed))
    members: dict[int, list[int]] = {}
    for number, group in enumerate(texts.groups.tolist()):
        members.setdefault(group, []).append(number)
    groups = list(members.values())
    held: list[int] = []
    for place in torch.randperm(len(groups), generator=generator).tolist():
        if len(held) + len(groups[place]) <= wanted:
            held += groups[place]
    if 2 * len(held) < wanted:
        held = torch.randperm(len(texts), generator=generator)[:wanted].tolist()
    aside = set(held)
    return texts.select([number for number in range(len(texts)) if number not in aside]), texts.select(sorted(aside))


def frequent_tokens(
    texts: Texts, count: int, vocabulary: int, ranks: Mapping[int, int] | None = None
) -> tuple[list[int], float]:
    """The most frequent tokens of texts; of equally frequent ones those with the lowest ids.

    Args:
        texts: the texts.
        count: number of tokens.
        vocabulary: number of token ids.
        ranks: tokens that are chosen before all others, those of a higher rank first.

    Returns:
        The tokens in ascending order, and their share of all tokens of the texts.
    """
    counts = torch.bincount(texts.tokens.long(), minlength=vocabulary)
    order = counts.clone()
    for token, rank in (ranks or {}).items():
        order[token] += rank * (len(texts.tokens) + 1)
    chosen = order.argsort(descending=True, stable=True)[:count]
    return chosen.sort().values.tolist(), float(counts[chosen].sum() / counts.sum())


def token_ranks(texts: Texts, tokenizer: Any, ends: Iterable[int]) -> dict[int, int]:
    """Tokens that belong in a draft vocabulary however rare they are, for `frequent_tokens`.

    Args:
        texts: the texts.
        tokenizer: the tokenizer of the texts, of transformers.
        ends: the target's end-of-text tokens.

    Returns:
        Rank 2 for the end-of-text tokens and the special tokens in the texts, rank 1 for the tokens of single bytes in
        the texts, of which rare characters are composed.
    """
    from tokenizers.pre_tokenizers import ByteLevel

    seen = texts.tokens.bincount().nonzero()[:, 0].tolist()
    names = dict(zip(seen, tokenizer.convert_ids_to_tokens(seen), strict=True))
    # Vocabularies with byte fallback spell bytes out; byte-level ones write each byte as one character.
    spelled = [token for token, name in names.items() if re.fullmatch("<0x[0-9A-Fa-f]{2}>", name or "")]
    alphabet = set(ByteLevel.alphabet())
    single = [token for token, name in names.items() if name in alphabet]
    special = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
    special |= set(tokenizer.all_special_ids)
    return dict.fromkeys(spelled or single, 1) | dict.fromkeys([*special.intersection(seen), *ends], 2)
