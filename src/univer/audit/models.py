"""Small language models given by tables: one row of the target and one of the draft for every prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RowMaker = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


@dataclass(frozen=True)
class TableModel:
    """A target and a draft whose laws depend on the whole prefix.

    A prefix has a number: the empty one 0, and prefix `s` followed by token `t` the number `s V + 1 + t`. So the
    prefixes of one length are consecutive.

    Attributes:
        vocabulary: V.
        target: `P` of every prefix, `[prefixes, V]`.
        draft: `Q` of every prefix, `[prefixes, V]`.
        scores: what ranks the fixed children, `[prefixes, V]`; the draft itself, or somebody else's guesses.
    """

    vocabulary: int
    target: Tensor
    draft: Tensor
    scores: Tensor

    def first(self, length: int) -> int:
        """Number of the first prefix of a length."""
        return first_prefix(self.vocabulary, length)

    def extended(self, mass: Floats, length: int) -> Floats:
        """Law of the first `length` tokens when the target continues what was put out.

        Args:
            mass: probability that the output is exactly this prefix, for all prefixes of at most `length` tokens.
            length: number of tokens.

        Returns:
            `[V^length]`, by prefix number.
        """
        law = mass[:1]
        for depth in range(length):
            rows = self.target[self.first(depth) : self.first(depth + 1)].double().numpy()
            law = (law[:, None] * rows).reshape(-1) + mass[self.first(depth + 1) : self.first(depth + 2)]
        return law

    def output_law(self, length: int) -> Floats:
        """The target's own law of the first `length` tokens, `[V^length]`."""
        start = np.zeros(self.first(length + 1))
        start[0] = 1.0
        return self.extended(start, length)


def first_prefix(vocabulary: int, length: int) -> int:
    """Number of the first prefix of a length: how many prefixes are shorter.

    Example:
        >>> [first_prefix(3, length) for length in range(4)]
        [0, 1, 4, 13]
    """
    return sum(vocabulary**depth for depth in range(length))


def _law(weights: Floats) -> Floats:
    law: Floats = weights / weights.sum() if weights.sum() > 0 else np.eye(len(weights))[0]
    return law


def _smooth(rng: np.random.Generator, size: int) -> Floats:
    return _law(rng.random(size) ** 2 + 1e-3)


def _sparse(rng: np.random.Generator, size: int) -> Floats:
    return _law(rng.random(size) * (rng.random(size) < 0.6))


def _coarse(rng: np.random.Generator, size: int) -> Floats:
    return _law(rng.integers(0, 3, size).astype(float))


def _point(rng: np.random.Generator, size: int) -> Floats:
    point: Floats = np.eye(size)[rng.integers(size)]
    return point


def _peaked(rng: np.random.Generator, size: int) -> Floats:
    return _law(np.exp(4 * rng.standard_normal(size)))


def _equal(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    row = _sparse(rng, size)
    return row, row


def _near(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    row = _smooth(rng, size)
    return row, _law(row * (1 + 1e-6 * rng.standard_normal(size)))


def _disjoint(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    side = np.arange(size) % 2 == rng.integers(2)
    return _law(_smooth(rng, size) * side), _law(_smooth(rng, size) * ~side)


def _narrow(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    few = rng.permutation(size) < rng.integers(1, 3)
    return _smooth(rng, size), _law(_smooth(rng, size) * few)


def _faint(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    faint = np.where(rng.random(size) < 0.5, 1e-9, 1.0)
    return _law(_smooth(rng, size) * faint), _law(_smooth(rng, size) * faint[::-1])


ROW_MAKERS: dict[str, RowMaker] = {
    "smooth": lambda rng, size: (_smooth(rng, size), _smooth(rng, size)),
    "zeros": lambda rng, size: (_sparse(rng, size), _sparse(rng, size)),
    "ties": lambda rng, size: (_coarse(rng, size), _coarse(rng, size)),
    "P = Q": _equal,
    "P near Q": _near,
    "disjoint": _disjoint,
    "point draft": lambda rng, size: (_smooth(rng, size), _point(rng, size)),
    "point target": lambda rng, size: (_point(rng, size), _smooth(rng, size)),
    "used up": _narrow,
    "faint": _faint,
    "peaked": lambda rng, size: (_peaked(rng, size), _peaked(rng, size)),
}
KINDS = (*ROW_MAKERS, "medley")


def make_model(
    kind: str, vocabulary: int, length: int, seed: int, dtype: torch.dtype = torch.float64, guesses: bool = False
) -> TableModel:
    """A model of one kind, the same for the same arguments.

    Args:
        kind: one of `KINDS`; `medley` picks a kind anew for every prefix.
        vocabulary: V.
        length: rows are made for all prefixes shorter than this.
        seed: of the random numbers.
        dtype: of the laws, float32 or float64.
        guesses: rank the fixed children by numbers that have nothing to do with the draft, as an n-gram would.

    Example:
        >>> make_model("ties", 3, 2, seed=0).target.shape
        torch.Size([4, 3])
    """
    rng = np.random.default_rng([seed, vocabulary, crc32(kind.encode())])
    count = first_prefix(vocabulary, length)
    makers = list(ROW_MAKERS.values())
    rows = [
        (makers[rng.integers(len(makers))] if kind == "medley" else ROW_MAKERS[kind])(rng, vocabulary)
        for _ in range(count)
    ]
    target = torch.from_numpy(np.stack([row[0] for row in rows])).to(dtype)
    draft = torch.from_numpy(np.stack([row[1] for row in rows])).to(dtype)
    scores = torch.from_numpy(rng.random((count, vocabulary))).to(dtype) if guesses else draft
    return TableModel(vocabulary, target, draft, scores)
