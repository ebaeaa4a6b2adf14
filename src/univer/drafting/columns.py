"""Which token each column of a draft's distributions stands for."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class Columns:
    """Distributions over the whole vocabulary: column `x` stands for token `x`.

    Trees hold tokens and distributions have columns; this class converts between the two.
    """

    def column(self, token: int) -> int | None:
        """Return the column of a token; None if it has none and so has probability 0."""
        return token

    def token(self, column: int) -> int:
        """Return the token of a column."""
        return column

    def whole(self, rows: Sequence[Tensor]) -> Sequence[Tensor]:
        """Extend distributions to the whole vocabulary, without changing any entry.

        Args:
            rows: `k` distributions `[D]` of the same dtype and device.

        Returns:
            `k` distributions `[V]`.
        """
        return rows

    def spread(self, logits: Tensor, size: int) -> Tensor:
        """Extend logits to all tokens, with `-inf` for those without a column.

        Args:
            logits: `[n, D]`.
            size: number of token ids V of the target.

        Returns:
            `[n, V]`.
        """
        return logits

    def pick(self, rows: Tensor) -> Tensor:
        """Return the columns, `[n, D]`, of rows over all tokens, `[n, V]`."""
        return rows

    def chances(self, rows: Tensor, entries: Sequence[tuple[int, int]]) -> list[float]:
        """Look up the probabilities of some tokens, with one transfer from the device.

        Args:
            rows: `[n, D]`; `D` may be 0.
            entries: pairs of a row index and a token.

        Returns:
            The probability of each pair.
        """
        columns = [(row, self.column(token)) for row, token in entries]
        known = [(row, column) for row, column in columns if column is not None and column < rows.shape[1]]
        if not known:
            return [0.0] * len(entries)
        places, ids = torch.tensor(known, device=rows.device).unbind(1)
        found = dict(zip(known, rows[places, ids].tolist(), strict=True))
        return [found.get((row, -1 if column is None else column), 0.0) for row, column in columns]


class DraftVocabulary(Columns):
    """Distributions over only those tokens that a draft can propose, which saves work on the zeros of all others.

    Args:
        ids: token of every column, `[D]`, rising, so that ties go to the lowest token.
        size: number of token ids V of the target.

    Raises:
        ValueError: the ids do not rise, or one is outside the vocabulary.

    Example:
        >>> columns = DraftVocabulary(torch.tensor([1, 3]), 5)
        >>> columns.token(1), columns.column(3), columns.column(2)
        (3, 1, None)
        >>> columns.whole([torch.tensor([0.25, 0.75])])[0]
        tensor([0.0000, 0.2500, 0.0000, 0.7500, 0.0000])
    """

    def __init__(self, ids: Tensor, size: int) -> None:
        self._tokens: list[int] = ids.tolist()
        if bool((ids.diff() <= 0).any()) or not 0 <= self._tokens[0] <= self._tokens[-1] < size:
            raise ValueError(f"a draft vocabulary must hold distinct token ids below {size} in rising order")
        self._columns = {token: column for column, token in enumerate(self._tokens)}
        self._ids = ids
        self._size = size

    def column(self, token: int) -> int | None:
        """Return the column of a token, or None."""
        return self._columns.get(token)

    def token(self, column: int) -> int:
        """Return the token of a column."""
        return self._tokens[column]

    def whole(self, rows: Sequence[Tensor]) -> Sequence[Tensor]:
        """Extend distributions with zeros for all other tokens."""
        if not rows:
            return rows
        whole = rows[0].new_zeros(len(rows), self._size)
        return whole.index_copy_(1, self._ids.to(whole.device), torch.stack(list(rows))).unbind()

    def spread(self, logits: Tensor, size: int) -> Tensor:
        """Extend logits with `-inf` for all other tokens."""
        whole = logits.new_full((len(logits), size), float("-inf"))
        return whole.index_copy_(1, self._ids.to(whole.device), logits)

    def pick(self, rows: Tensor) -> Tensor:
        """Return the columns of the draft vocabulary."""
        return rows[:, self._ids.to(rows.device)]


EVERY_TOKEN = Columns()
