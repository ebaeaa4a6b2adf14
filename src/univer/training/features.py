"""What a head learns from: the target's hidden states and the target's own laws, computed once and kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# The largest difference between the model's logits and those computed from its last hidden state, relative to their
# spread, that rounding in the model's precision explains.
TOLERANCE = 0.02


@dataclass(frozen=True)
class FeatureSet:
    """Texts with what the target thought of them.

    Attributes:
        tokens: `[n, L]`, int32; rows are padded on the right.
        lengths: `[n]`, int64: tokens of each row that count.
        features: `[n, L, k H]`, bfloat16: the hidden states that the head reads.
        last: `[n, L, H]`, bfloat16: the hidden states that the target's output layer reads.
        log_total: `[n, L]`, float32: log of the sum over the whole vocabulary of the exponentiated logits.
    """

    tokens: Tensor
    lengths: Tensor
    features: Tensor
    last: Tensor
    log_total: Tensor

    def __len__(self) -> int:
        return len(self.tokens)


def hidden_states(model: Any, tokens: Tensor, layers: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The target's hidden states of whole texts.

    Args:
        model: a causal language model of transformers.
        tokens: `[b, L]`; padding on the right does not matter.
        layers: indices into transformers' `hidden_states`.

    Returns:
        The states of the layers side by side `[b, L, k H]`, and the last ones, after the final norm, `[b, L, H]`.
    """
    with torch.inference_mode():
        states = model(
            input_ids=tokens.to(model.device, torch.long), output_hidden_states=True, use_cache=False, logits_to_keep=1
        ).hidden_states
    return torch.cat([states[layer] for layer in layers], -1), states[-1]


def check_output_layer(model: Any) -> None:
    """Make sure that the last hidden state, read by the output layer, gives the model's logits.

    Raises:
        ValueError: it does not, e.g. because the model caps or scales its logits.
    """
    tokens = torch.arange(16)[None] % model.config.get_text_config().vocab_size
    with torch.inference_mode():
        output = model(input_ids=tokens.to(model.device), output_hidden_states=True, use_cache=False)
        computed = model.get_output_embeddings()(output.hidden_states[-1])
    gap = (output.logits.float() - computed.float()).abs().max()
    if not bool(gap <= TOLERANCE * output.logits.float().std()):
        raise ValueError(
            f"the logits of a {type(model).__name__} are not its output layer applied to its last hidden state (they "
            "are capped or scaled): a head cannot be trained for it"
        )


def compute_features(
    model: Any,
    tokens: Tensor,
    lengths: Tensor,
    layers: Sequence[int],
    folder: Path,
    batch: int = 16,
    progress: Callable[[int], None] | None = None,
) -> FeatureSet:
    """Read all texts with the target, keeping what it computes in files that are mapped into memory.

    Args:
        model: the target.
        tokens: `[n, L]`.
        lengths: `[n]`.
        layers: indices into transformers' `hidden_states`.
        folder: where the files go; a pair that is complete already is used as it is.
        batch: texts read in one pass.
        progress: called with the number of texts read so far.
    """
    width = model.config.get_text_config().hidden_size
    count, length = tokens.shape
    kinds = {
        "features": (len(layers) * width, torch.bfloat16),
        "last": (width, torch.bfloat16),
        "log_total": (1, torch.float32),
    }
    maps = {
        name: torch.from_file(str(folder / f"{name}.bin"), shared=True, size=count * length * size, dtype=dtype).view(
            count, length, size
        )
        for name, (size, dtype) in kinds.items()
    }
    done = folder / "features.done"
    stamp = f"{tuple(tokens.shape)} {tuple(layers)} {int(tokens.sum())}"
    if not (done.exists() and done.read_text() == stamp):
        output_layer = model.get_output_embeddings()
        for start in range(0, count, batch):
            rows = slice(start, min(start + batch, count))
            features, last = hidden_states(model, tokens[rows], layers)
            maps["features"][rows] = features.to("cpu", torch.bfloat16)
            maps["last"][rows] = last.to("cpu", torch.bfloat16)
            with torch.inference_mode():
                for row, states in enumerate(last, start=start):
                    maps["log_total"][row, :, 0] = torch.logsumexp(output_layer(states).float(), -1).cpu()
            if progress is not None:
                progress(rows.stop)
        done.write_text(stamp)
    return FeatureSet(tokens, lengths, maps["features"], maps["last"], maps["log_total"][..., 0])
