"""One node with every possible draw of its children, as a batch."""

from __future__ import annotations

from itertools import permutations, product

import torch
from torch import Tensor

from random_trees import random_law
from univer.rules import Siblings

F64 = torch.float64
VOCABULARY = 5


def all_draws(q: Tensor, law: str, fixed: int, sampled: int) -> tuple[Tensor, Tensor, Tensor]:
    """Every draw of the children of one node: tokens `[n, m]`, probabilities `[n]`, and `S` `[V]`."""
    pinned = sorted(range(len(q)), key=lambda token: (-q[token].item(), token))[:fixed]
    s = q.clone()
    s[pinned] = 0
    s = s / s.sum()
    support = s.nonzero()[:, 0].tolist()
    tokens, chances = [], []
    distinct = permutations(support, min(sampled, len(support)))
    for drawn in product(support, repeat=sampled) if law == "iid" else distinct:
        chance, left = 1.0, 1.0
        for token in drawn:
            chance *= s[token].item() / left
            left -= 0.0 if law == "iid" else s[token].item()
        tokens.append([*pinned, *drawn])
        chances.append(chance)
    return torch.tensor(tokens).reshape(len(tokens), -1), torch.tensor(chances, dtype=F64), s


def problems(law: str, fixed: int, sampled: int, seed: int, scale: float) -> tuple[Siblings, Tensor, Tensor]:
    """All draws at one random node as a batch, their probabilities, and the target row."""
    generator = torch.Generator().manual_seed(seed)
    p, q = random_law((VOCABULARY,), generator), random_law((VOCABULARY,), generator)
    while (q > 0).sum() <= fixed:  # something must be left to sample
        q = random_law((VOCABULARY,), generator)
    if seed % 4 == 1:
        p = q.clone()
    if seed % 4 == 2:  # disjoint supports
        p = torch.where(q > 0, 0.0, 1.0).to(F64) if (q == 0).any() else p
        p = p / p.sum()
    tokens, chances, s = all_draws(q, law, fixed, sampled)
    count = len(tokens)
    batch = Siblings(
        p.expand(count, -1).clone(),
        s.expand(count, -1).clone() if sampled else None,
        torch.full((count,), scale, dtype=F64),
        tokens,
        fixed,
        law,
    )
    return batch, chances, p
