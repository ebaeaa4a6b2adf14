"""Texts whose next tokens a function lists: `prefix_allowed_tokens_fn`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


class AllowedTokens:
    """Removes every token that a function of the text does not list.

    As in transformers, the listed tokens are forced where the other settings leave none of them. Where none is listed,
    nothing may follow the text.

    Args:
        function: given the number of the text in its call and the ids `[L]` of what was said so far, lists the tokens
            that may come next.
        text: the number.

    Raises:
        TypeError: it is no function.

    Example:
        >>> follow = AllowedTokens(lambda text, ids: [int(ids[-1]) + 1, 0], text=0)
        >>> follow(torch.tensor([[0], [2]]), torch.ones(2, 4))
        tensor([[1., 1., -inf, -inf],
                [1., -inf, -inf, 1.]])
    """

    def __init__(self, function: Callable[[int, Tensor], Sequence[int]], text: int) -> None:
        if not callable(function):
            raise TypeError("it must be a function of the number of a text and its ids")
        # What a message calls it, and where what it keeps is looked for.
        self.__name__ = "prefix_allowed_tokens_fn"
        self.__wrapped__ = function
        self._text = text

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Mask rows `[n, V]` by their own ids `[n, L]`.

        Raises:
            ValueError: a token is listed that there is not.
        """
        mask = torch.full_like(scores, -math.inf)
        for row, ids in zip(mask, input_ids, strict=True):
            row[self._listed(ids, scores.shape[-1])] = 0.0
        kept = scores + mask
        return torch.where(kept.amax(-1, keepdim=True) == -math.inf, mask, kept)

    def _listed(self, ids: Tensor, vocabulary: int) -> Tensor:
        listed = torch.as_tensor(self.__wrapped__(self._text, ids), dtype=torch.long, device=ids.device)
        for token in listed[(listed < 0) | (listed >= vocabulary)].tolist()[:1]:
            raise ValueError(
                f"{self.__name__} lists token {token}, which is outside the target's vocabulary: ids go from 0 to "
                f"{vocabulary - 1}"
            )
        return listed
