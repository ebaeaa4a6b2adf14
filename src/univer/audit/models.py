"""Small language models given by tables: one row of the target and one of the draft for every prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RowMaker = Callable[[np.random.Generator, tuple[int, int]], tuple[Floats, Floats]]


@dataclass(frozen=True)
class TableModel:
    """A target and a draft whose distributions depend on the whole prefix.

    A prefix has a number: the empty one 0, and prefix `s` followed by token `t` the number `s V + 1 + t`. So the
    prefixes of one length are consecutive.

    Attributes:
        vocabulary: V.
        target: `P` of every prefix, `[prefixes, V]`.
        draft: `Q` of every prefix, `[prefixes, V]`.
        scores: what ranks the fixed children, `[prefixes, V]`; the draft itself, or guesses from another source.
    """

    vocabulary: int
    target: Tensor
    draft: Tensor
    scores: Tensor

    def first(self, length: int) -> int:
        """Number of the first prefix of a length."""
        return first_prefix(self.vocabulary, length)

    def extended(self, mass: Floats, length: int) -> Floats:
        """Distribution of the first `length` tokens when the target continues what was put out.

        Args:
            mass: probability that the output is exactly this prefix, for all prefixes of at most `length` tokens.
            length: number of tokens.

        Returns:
            `[V^length]`, by prefix number.
        """
        chances = mass[:1]
        for depth in range(length):
            rows = self.target[self.first(depth) : self.first(depth + 1)].double().numpy()
            chances = (chances[:, None] * rows).reshape(-1) + mass[self.first(depth + 1) : self.first(depth + 2)]
        return chances

    def output_distribution(self, length: int) -> Floats:
        """The target's own distribution of the first `length` tokens, `[V^length]`."""
        start = np.zeros(self.first(length + 1))
        start[0] = 1.0
        return self.extended(start, length)

    def prefix_chances(self, length: int) -> Floats:
        """Probability that a text of the target begins with each prefix of at most `length` tokens, by number."""
        return np.concatenate([self.output_distribution(tokens) for tokens in range(length + 1)])


def first_prefix(vocabulary: int, length: int) -> int:
    """Number of the first prefix of a length: how many prefixes are shorter.

    Example:
        >>> [first_prefix(3, length) for length in range(4)]
        [0, 1, 4, 13]
    """
    return sum(vocabulary**depth for depth in range(length))


def _normalised(weights: Floats) -> Floats:
    """Rows scaled to sum 1; a row of zeros becomes a point."""
    filled = np.where(weights.sum(1, keepdims=True) > 0, weights, np.eye(1, weights.shape[1]))
    rows: Floats = filled / filled.sum(1, keepdims=True)
    return rows


def _smooth(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return _normalised(rng.random(shape) ** 2 + 1e-3)


def _sparse(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return _normalised(rng.random(shape) * (rng.random(shape) < 0.6))


def _coarse(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return _normalised(rng.integers(0, 3, shape).astype(float))


def _point(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    points: Floats = np.eye(shape[1])[rng.integers(shape[1], size=shape[0])]
    return points


def _peaked(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return _normalised(np.exp(4 * rng.standard_normal(shape)))


def _equal(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    rows = _sparse(rng, shape)
    return rows, rows


def _near(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    rows = _smooth(rng, shape)
    return rows, _normalised(rows * (1 + 1e-6 * rng.standard_normal(shape)))


def _disjoint(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    side = np.arange(shape[1]) % 2 == rng.integers(2, size=(shape[0], 1))
    return _normalised(_smooth(rng, shape) * side), _normalised(_smooth(rng, shape) * ~side)


def _narrow(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    few = rng.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1) < rng.integers(1, 3, size=(shape[0], 1))
    return _smooth(rng, shape), _normalised(_smooth(rng, shape) * few)


def _faint(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    faint = np.where(rng.random(shape) < 0.5, 1e-9, 1.0)
    return _normalised(_smooth(rng, shape) * faint), _normalised(_smooth(rng, shape) * faint[:, ::-1])


# Target and draft rows `[count, V]`, by kind.
ROW_MAKERS: dict[str, RowMaker] = {
    "smooth": lambda rng, shape: (_smooth(rng, shape), _smooth(rng, shape)),
    "zeros": lambda rng, shape: (_sparse(rng, shape), _sparse(rng, shape)),
    "ties": lambda rng, shape: (_coarse(rng, shape), _coarse(rng, shape)),
    "P = Q": _equal,
    "P near Q": _near,
    "disjoint": _disjoint,
    "point draft": lambda rng, shape: (_smooth(rng, shape), _point(rng, shape)),
    "point target": lambda rng, shape: (_point(rng, shape), _smooth(rng, shape)),
    "used up": _narrow,
    "faint": _faint,
    "peaked": lambda rng, shape: (_peaked(rng, shape), _peaked(rng, shape)),
}
KINDS = (*ROW_MAKERS, "medley")


def make_rows(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Target and draft rows of one kind; `medley` picks a kind anew for every row.

    Args:
        kind: one of `KINDS`.
        rng: source of randomness.
        shape: number of rows, and V.
    """
    if kind != "medley":
        return ROW_MAKERS[kind](rng, shape)
    target, draft = (np.stack(rows) for rows in zip(*(make(rng, shape) for make in ROW_MAKERS.values()), strict=True))
    picked = rng.integers(len(target), size=shape[0]), np.arange(shape[0])
    return target[picked], draft[picked]


@lru_cache(maxsize=128)
def make_model(
    kind: str, vocabulary: int, length: int, seed: int, dtype: torch.dtype = torch.float64, guesses: bool = False
) -> TableModel:
    """A model of one kind, the same for the same arguments; a greater length only adds rows.

    Args:
        kind: one of `KINDS`.
        vocabulary: V.
        length: rows are made for all prefixes shorter than this.
        seed: of the random numbers.
        dtype: of the distributions, float32 or float64.
        guesses: rank the fixed children by numbers that have nothing to do with the draft, as an n-gram would.

    Example:
        >>> make_model("ties", 3, 2, seed=0).target.shape
        torch.Size([4, 3])
    """
    parts: list[tuple[Floats, Floats, Floats]] = []
    for depth in range(length):
        rng = np.random.default_rng([seed, vocabulary, crc32(kind.encode()), depth])
        shape = vocabulary**depth, vocabulary
        target, draft = make_rows(kind, rng, shape)
        parts.append((target, draft, rng.random(shape) if guesses else draft))
    tables = [torch.from_numpy(np.concatenate(levels)).to(dtype) for levels in zip(*parts, strict=True)]
    return TableModel(vocabulary, *tables)
