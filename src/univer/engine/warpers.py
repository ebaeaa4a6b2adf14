"""Sampling settings of a request: logits -> temperature, top-k, top-p, min-p -> distributions.

The order and the masks are those of transformers' own warpers; only top-p is computed in a faster way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import torch
from torch import Tensor

from univer.engine.nucleus import keep_nucleus
from univer.laws import distributions_from_logits

# Below this the scaled logits of common models leave the range of float32; temperature 0 says what is meant.
SMALLEST_TEMPERATURE = 1e-6


@dataclass(frozen=True)
class Sampling:
    """How one request turns logits into next-token distributions.

    Temperature 0 is greedy decoding: the distribution is a point mass at the largest logit and the filters have no
        effect.

    Args:
        temperature: divides the logits; 0 for greedy decoding.
        top_k: keep the `top_k` largest logits and all that tie with the last of them; None keeps all.
        top_p: keep the smallest set of most likely tokens with mass at least `top_p`; None keeps all.
        min_p: keep tokens of at least `min_p` times the largest probability; None keeps all.

    Raises:
        ValueError: a setting is out of its range.
        TypeError: a setting is no number.

    Example:
        >>> Sampling(temperature=0.5, top_k=2).distributions(torch.tensor([[0.0, 1.0, 2.0]]))
        tensor([[0.0000, 0.1192, 0.8808]])
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None

    def __post_init__(self) -> None:
        for name in ("temperature", "top_k", "top_p", "min_p"):
            value = getattr(self, name)
            may_be_none = name != "temperature"
            if not (value is None and may_be_none) and (isinstance(value, bool) or not isinstance(value, Real)):
                raise TypeError(f"{name} must be a number{' or None' * may_be_none}, not {value!r}")
        if not math.isfinite(self.temperature) or self.temperature < 0:
            raise ValueError(f"temperature must be 0 (greedy) or positive, not {self.temperature}")
        if 0 < self.temperature < SMALLEST_TEMPERATURE:
            raise ValueError(
                f"temperature {self.temperature} is too small to divide by (at least {SMALLEST_TEMPERATURE}); "
                "use temperature=0 for greedy decoding"
            )
        if self.top_k is not None and (self.top_k < 1 or self.top_k % 1 != 0):
            raise ValueError(f"top_k must be a whole number of at least 1, not {self.top_k}; None keeps every token")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], not {self.top_p}; None keeps every token")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p must be in [0, 1], not {self.min_p}; None keeps every token")

    @property
    def greedy(self) -> bool:
        """Whether the next token is the largest logit, without randomness."""
        return self.temperature == 0

    def warp(self, logits: Tensor) -> Tensor:
        """Apply temperature, top-k, top-p and min-p, in this order, to rows of logits.

        Args:
            logits: `[n, V]`, any floating dtype; not modified.

        Returns:
            Warped logits `[n, V]`, float32 (float64 for float64 logits); `-inf` marks a removed token. At temperature 0
            they are the logits.
        """
        scores = logits if logits.dtype == torch.float64 else logits.float()
        if self.greedy:
            return scores
        if self.temperature != 1:
            scores = scores / self.temperature
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            smallest_kept = scores.topk(int(self.top_k), dim=-1).values[..., -1:]
            scores = scores.masked_fill(scores < smallest_kept, -math.inf)
        if self.top_p is not None and self.top_p < 1:
            scores = keep_nucleus(scores, self.top_p)
        if self.min_p is not None and self.min_p > 0:
            probabilities = scores.softmax(-1)
            floor = self.min_p * probabilities.amax(-1, keepdim=True)
            scores = scores.masked_fill(probabilities < floor, -math.inf)
        return scores

    def distributions(self, logits: Tensor, step: str = "the model") -> Tensor:
        """Next-token distributions of rows of raw logits.

        Args:
            logits: `[n, V]`, any floating dtype; not modified.
            step: what produced the logits, named in the error message.

        Returns:
            Laws `[n, V]`, float32 (float64 for float64 logits), each row summing to 1.

        Raises:
            ValueError: a row has a NaN, a `+inf`, or is `-inf` everywhere.
        """
        if self.greedy:
            tokens = torch.tensor(greedy_tokens(logits, step), device=logits.device)
            dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
            return torch.zeros(logits.shape, dtype=dtype, device=logits.device).scatter_(-1, tokens[:, None], 1.0)
        return distributions_from_logits(self.warp(logits), step)


def greedy_tokens(logits: Tensor, step: str = "the model") -> list[int]:
    """The largest logit of each row; ties go where `torch.argmax` puts them, as in transformers' greedy decoding.

    Args:
        logits: `[n, V]`, any floating dtype.
        step: what produced the logits, named in the error message.

    Returns:
        Token ids, one per row.

    Raises:
        ValueError: a row has a NaN, a `+inf`, or is `-inf` everywhere.

    Example:
        >>> greedy_tokens(torch.tensor([[0.0, 2.0, 2.0]]))
        [1]
    """
    scores = logits if logits.dtype == torch.float64 else logits.float()
    tokens = scores.argmax(-1)
    # torch.argmax ranks NaN above everything, so the value it picks is finite only in a sound row.
    picked = scores.gather(-1, tokens[:, None]).squeeze(-1)
    # One transfer for the check and for the answer.
    sound, *ids = torch.cat([picked.isfinite().all()[None].long(), tokens]).tolist()
    if not sound:
        row = int((~picked.isfinite()).nonzero()[0])
        raise ValueError(
            f"{step}: row {row} of the logits has a NaN or +inf, or is -inf everywhere, so there is no distribution"
        )
    return [int(token) for token in ids]
