"""Outputs of a token beside its id: log-probabilities and the rows that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from univer.runtime.guards import without_inference_mode


@dataclass(frozen=True)
class TokenLogprob:
    """Log-probabilities of an emitted token, given all tokens before it.

    Attributes:
        token: token id.
        logprob: by the target's logits as they are, before processors and the settings of sampling.
        processed: by the scores after all of them, which under sampling is the distribution that the token was drawn
            from; at temperature 0, after the processors alone.
        top: the most likely tokens with their `logprob`, in falling order; as many as were asked for.
    """

    token: int
    logprob: float
    processed: float
    top: dict[int, float]


@dataclass
class TokenOutputs:
    """Outputs of some tokens, in their order; None for an output that was not requested.

    Attributes:
        logprobs: log-probabilities.
        scores: `[V]` rows after processors, temperature and filters, `-inf` for a token that they remove.
        logits: `[V]` rows of the target before all of them.
    """

    logprobs: list[TokenLogprob] | None = None
    scores: list[Tensor] | None = None
    logits: list[Tensor] | None = None

    def first(self, count: int) -> TokenOutputs:
        """The outputs of the first `count` tokens."""
        return TokenOutputs(
            None if self.logprobs is None else self.logprobs[:count],
            None if self.scores is None else self.scores[:count],
            None if self.logits is None else self.logits[:count],
        )

    def extend(self, other: TokenOutputs) -> None:
        """Add the outputs of the tokens that follow, of the same request."""
        for name in ("logprobs", "scores", "logits"):
            if getattr(self, name) is not None:
                getattr(self, name).extend(getattr(other, name))


@dataclass(frozen=True)
class RequestedOutputs:
    """The outputs that a request asks for.

    Attributes:
        logprobs: number of most likely tokens beside every token, all where the vocabulary has fewer; None for no
            log-probabilities at all.
        scores: whether rows after processing are kept.
        logits: whether rows before processing are kept.
    """

    logprobs: int | None = None
    scores: bool = False
    logits: bool = False

    @property
    def anything(self) -> bool:
        """Whether any output is requested."""
        return self.logprobs is not None or self.scores or self.logits

    def empty(self) -> TokenOutputs:
        """The outputs of no token."""
        return TokenOutputs(
            [] if self.logprobs is not None else None, [] if self.scores else None, [] if self.logits else None
        )

    def collect(self, tokens: Sequence[int], logits: Tensor, scores: Tensor) -> TokenOutputs:
        """The outputs of some tokens.

        Args:
            tokens: `n` token ids.
            logits: `[n, V]`, the row that each of them follows from.
            scores: `[n, V]`, the same after processing.
        """
        with without_inference_mode():
            raw = logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)
            return TokenOutputs(
                None if self.logprobs is None else _logprobs(tokens, raw, scores.clone(), self.logprobs),
                list(scores.clone()) if self.scores else None,
                list(raw) if self.logits else None,
            )


def _logprobs(tokens: Sequence[int], logits: Tensor, scores: Tensor, count: int) -> list[TokenLogprob]:
    before, after = logits.log_softmax(-1), scores.log_softmax(-1)
    ids = torch.tensor(list(tokens), device=logits.device)[:, None]
    likely = before.topk(min(count, before.shape[1]), -1)
    columns = zip(
        tokens,
        before.gather(1, ids)[:, 0].tolist(),
        after.gather(1, ids)[:, 0].tolist(),
        likely.indices.tolist(),
        likely.values.tolist(),
        strict=True,
    )
    return [
        TokenLogprob(token, own, processed, dict(zip(top, values, strict=True)))
        for token, own, processed, top, values in columns
    ]
