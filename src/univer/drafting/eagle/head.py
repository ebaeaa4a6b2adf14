"""The head of EAGLE and EAGLE-3: one decoder layer from the target's hidden states to draft distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from univer.drafting.eagle.config import EagleConfig
from univer.drafting.eagle.rotary import frequencies, rotate

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


class Norm(nn.RMSNorm):
    """An RMS norm that computes in the precision of its weights, whatever autocast makes of its input."""

    def forward(self, x: Tensor) -> Tensor:
        """The normalised input, in the shape of the input."""
        return super().forward(x.to(self.weight.dtype))


class EagleHead(nn.Module):
    """One decoder layer that predicts the token after a given one, with the target's hidden state before that token.

    Row `t` of its input joins the embedding of token `t + 1` with the hidden state of token `t`; its logits are for
    token `t + 2`. Further steps take the head's own output in place of the target's hidden state.

    Variant 1 (EAGLE, Li et al., arXiv 2401.15077, section 3; EAGLE-2, arXiv 2406.16858, has the same head):
    `x = fc([e, f])`, one Llama layer without input norm, and the target's output layer.
    Variant 3 (EAGLE-3, arXiv 2503.01840, section 3): `g = fc([f_low, f_middle, f_high])`, one Llama layer whose
    attention reads `[norm(e), norm(g)]` and whose residual is `g`, then a norm and an output layer of its own.

    Args:
        config: sizes and settings.

    Attributes:
        d2t: int64 `[D]` for a reduced draft vocabulary, else None: draft token `i` is target token `i + d2t[i]`.
        t2d: bool `[V]` likewise: whether a target token is in the draft vocabulary.
        speeds: rotary frequencies, see `frequencies`. They are not a buffer, so that they stay in float32 when the head
            is converted: far positions would coincide in bfloat16.
    """

    d2t: Tensor | None
    t2d: Tensor | None

    def __init__(self, config: EagleConfig) -> None:
        super().__init__()
        self.config = config
        width, inner = config.hidden_size, config.heads * config.head_dim
        joined = 2 * width if config.variant == 1 else len(config.features) * config.target_hidden_size
        self.fc = nn.Linear(joined, width, bias=config.fc_bias)
        # One matrix for query, key and value, one for gate and up, as the calls are the main cost of a small head.
        entering = width if config.variant == 1 else 2 * width
        self.qkv = nn.Linear(entering, inner + 2 * config.kv_heads * config.head_dim, bias=config.attention_bias)
        self.o_proj = nn.Linear(inner, width, bias=config.output_bias)
        self.gate_up = nn.Linear(width, 2 * config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, width, bias=False)
        self.post_attention_norm = self._norm(width)
        if config.variant == 3:
            self.input_norm = self._norm(width)
            self.hidden_norm = self._norm(width)
            self.norm = self._norm(width)
            self.feature_norm = self._norm(joined) if config.norm_before_fc else None
        if not config.shares_output:
            self.lm_head = nn.Linear(width, config.draft_vocab_size, bias=False)
        self.embed_tokens = nn.Embedding(config.vocab_size, width) if config.own_embeddings else None
        reduced = config.reduced
        self.register_buffer("d2t", torch.zeros(config.draft_vocab_size, dtype=torch.long) if reduced else None)
        self.register_buffer("t2d", torch.zeros(config.vocab_size, dtype=torch.bool) if reduced else None)
        if reduced:
            self.set_vocabulary(range(config.draft_vocab_size))
        self.speeds = frequencies(config.head_dim, config.rope_theta, config.rope_scaling)

    def _norm(self, width: int) -> Norm:
        return Norm(width, eps=self.config.rms_norm_eps)

    def set_vocabulary(self, tokens: Sequence[int]) -> None:
        """Set the target tokens that the rows of the output layer score.

        Args:
            tokens: D different target token ids; row `i` scores the i-th smallest of them.

        Raises:
            ValueError: the draft vocabulary is not reduced, or there are not D different ids below V.
        """
        ids = sorted(set(tokens))
        config = self.config
        if self.d2t is None or self.t2d is None:
            raise ValueError("this head proposes the target's whole vocabulary, which cannot be set")
        if len(ids) != config.draft_vocab_size or ids[0] < 0 or ids[-1] >= config.vocab_size:
            raise ValueError(
                f"a draft vocabulary is {config.draft_vocab_size} different token ids below {config.vocab_size}, "
                f"not {len(ids)} from {min(ids, default=None)} to {max(ids, default=None)}"
            )
        chosen = torch.tensor(ids, device=self.d2t.device)
        self.d2t.copy_(chosen - torch.arange(len(ids), device=chosen.device))
        self.t2d.zero_()
        self.t2d[chosen] = True

    @property
    def token_ids(self) -> Tensor | None:
        """Target token `[D]` of each row of the output layer; None if they are all tokens in order."""
        return None if self.d2t is None else self.d2t + torch.arange(len(self.d2t), device=self.d2t.device)

    def embed(self, tokens: Tensor, table: Tensor) -> Tensor:
        """Embeddings of target tokens.

        Args:
            tokens: int64, any shape.
            table: the target's embeddings `[V, H]`, not used if the head has its own.

        Returns:
            The same shape with a last dimension H.
        """
        return functional.embedding(tokens, table if self.embed_tokens is None else self.embed_tokens.weight)

    def fuse(self, features: Tensor) -> Tensor:
        """Combine the target's hidden states into the one that `block` takes.

        Args:
            features: `[..., k * target H]`, those of the layers in `config.features`, concatenated.

        Returns:
            `[..., H]`; for variant 1 the features themselves.
        """
        if self.config.variant == 1:
            return features
        if self.feature_norm is not None:
            features = self.feature_norm(features)
        return self.fc(features)  # type: ignore[no-any-return]

    def block(self, embeddings: Tensor, hidden: Tensor, attend: Attend, positions: Tensor) -> Tensor:
        """The decoder layer.

        Args:
            embeddings: `[b, n, H]`, of the tokens read.
            hidden: `[b, n, H]`, result of `fuse` one token earlier, or the head's own output there.
            attend: the attention: a function of rotated queries `[b, heads, n, d]` and of keys and values
                `[b, kv_heads, n, d]` of these rows that returns `[b, heads, n, d]`, with the cache and mask of the
                caller.
            positions: `[b, n]`, position of each row; a constant shift of all of them changes nothing.

        Returns:
            `[b, n, H]`, the input of `logits` and the `hidden` of further steps.
        """
        config = self.config
        if config.variant == 1:
            residual = entering = self.fc(torch.cat((embeddings, hidden), -1))
        else:
            normed = self.hidden_norm(hidden)
            residual = normed if config.norm_before_residual else hidden
            entering = torch.cat((self.input_norm(embeddings), normed), -1)
        batch, count, _ = entering.shape
        qkv = self.qkv(entering).view(batch, count, -1, config.head_dim)
        turning = config.heads + config.kv_heads
        self.speeds = self.speeds.to(positions.device)
        turned = rotate(qkv[:, :, :turning], positions, self.speeds).transpose(1, 2)
        values = qkv[:, :, turning:].transpose(1, 2)
        mixed = attend(turned[:, : config.heads], turned[:, config.heads :], values)
        middle = residual + self.o_proj(mixed.transpose(1, 2).reshape(batch, count, -1))
        gate, up = self.gate_up(self.post_attention_norm(middle)).chunk(2, -1)
        output: Tensor = middle + self.down_proj(functional.silu(gate) * up)
        return self.norm(output) if config.norm_output else output

    def logits(self, hidden: Tensor, output: Tensor | None = None) -> Tensor:
        """Scores of the draft tokens.

        Args:
            hidden: `[..., H]`, output of `block`.
            output: for a head without an output layer the rows `[D, H]` of the target's output layer that belong to
                the draft vocabulary.

        Returns:
            `[..., D]`, before the target's scaling of its own scores, see `EagleDraft.logits`.

        Raises:
            ValueError: a head without an output layer is called without the target's.
        """
        config = self.config
        states = hidden if config.variant == 1 or config.norm_output else self.norm(hidden)
        if not config.shares_output:
            return self.lm_head(states)  # type: ignore[no-any-return]
        if output is None:
            raise ValueError("this head scores tokens with the target's output layer: pass it")
        return functional.linear(states, output)
