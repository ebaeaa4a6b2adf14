"""Training data of a head: the target's hidden states and its distributions, computed once and kept on disk."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from univer.files import write_text
from univer.runtime.features import FeatureTap
from univer.training.texts import Texts

# Number of texts between two flushes to disk.
FLUSH_EVERY = 32


@dataclass(frozen=True)
class FeatureBatch:
    """A batch of texts, padded on the right.

    Attributes:
        tokens: `[b, L]`, int64.
        lengths: `[b]`, int64, see `Texts`.
        starts: `[b]`, int64, see `Texts`.
        features: `[b, L, k H]`, bfloat16, see `FeatureSet`.
        last: `[b, L, H]`, bfloat16, see `FeatureSet`.
        log_total: `[b, L]`, float32, see `FeatureSet`.
    """

    tokens: Tensor
    lengths: Tensor
    starts: Tensor
    features: Tensor
    last: Tensor
    log_total: Tensor


@dataclass(frozen=True)
class FeatureSet:
    """Texts with the target's hidden states and distributions.

    Attributes:
        texts: the texts, of T tokens in all.
        features: `[T, k H]`, bfloat16: the hidden states that the head reads.
        last: `[T, H]`, bfloat16: the hidden states that the target's output layer reads.
        log_total: `[T]`, float32: the log-sum-exp of the target's logits over the whole vocabulary.
    """

    texts: Texts
    features: Tensor
    last: Tensor
    log_total: Tensor

    def __len__(self) -> int:
        return len(self.texts)

    def batch(self, rows: Tensor) -> FeatureBatch:
        """A batch of texts, on the CPU.

        Args:
            rows: `[b]`, int64, indices of the texts.
        """
        texts = self.texts
        lengths = texts.lengths[rows]
        spans = list(zip(texts.offsets[rows].tolist(), lengths.tolist(), strict=True))
        width = int(lengths.max())

        def padded(values: Tensor) -> Tensor:
            out = values.new_zeros(len(spans), width, *values.shape[1:])
            for row, (first, count) in enumerate(spans):
                out[row, :count] = values[first : first + count]
            return out

        tokens, features, last, log_total = map(padded, (texts.tokens, self.features, self.last, self.log_total))
        return FeatureBatch(tokens.long(), lengths, texts.starts[rows], features, last, log_total)


def compute_features(
    model: Any, texts: Texts, layers: Sequence[int], folder: Path, tick: Callable[[int], None] | None = None
) -> FeatureSet:
    """Compute the target's hidden states of texts, in files that are mapped into memory.

    Args:
        model: the target.
        texts: the texts.
        layers: indices into transformers' `hidden_states`, -1 for the state after the final norm.
        folder: folder of the files; an earlier computation for the same texts is resumed.
        tick: called with the number of texts done; an exception that it raises stops the computation.

    Returns:
        The texts with their hidden states.

    Raises:
        ValueError: the disk has too little free space.
    """
    width = model.config.get_text_config().hidden_size
    count = len(texts.tokens)
    kinds = {"features": (len(layers) * width, np.uint16), "last": (width, np.uint16), "log_total": (1, np.float32)}
    progress = folder / "done.txt"
    stamp = f"{hashlib.sha256(texts.tokens.numpy().tobytes()).hexdigest()[:16]} {len(texts)} {list(layers)}"
    number, _, kept = progress.read_text().partition(" ") if progress.exists() else ("0", "", "")
    done = int(number) if kept == stamp else 0
    if not done:
        needed = sum(count * size * np.dtype(kind).itemsize for size, kind in kinds.values())
        if needed > (free := shutil.disk_usage(folder).free):
            raise ValueError(
                f"the target's hidden states take {needed / 1e9:.1f} GB and {folder} has {free / 1e9:.1f} GB left: "
                "train on fewer tokens"
            )
    maps = {
        name: np.memmap(folder / f"{name}.bin", kind, "r+" if done else "w+", shape=(count, size))
        for name, (size, kind) in kinds.items()
    }
    features, last = (torch.from_numpy(maps[name]).view(torch.bfloat16) for name in ("features", "last"))
    found = FeatureSet(texts, features, last, torch.from_numpy(maps["log_total"])[:, 0])
    tap, offsets = FeatureTap(model, (*layers, -1)), texts.offsets.tolist()

    def flush() -> None:
        for values in maps.values():
            values.flush()
        write_text(progress, f"{done} {stamp}")

    try:
        while done < len(texts):
            rows = slice(offsets[done], offsets[done + 1])
            states, log_total = read_text(model, tap, texts.tokens[rows])
            found.features[rows], found.last[rows] = states[:, :-width].cpu(), states[:, -width:].cpu()
            found.log_total[rows] = log_total.cpu()
            done += 1
            if done % FLUSH_EVERY == 0:
                flush()
            if tick is not None:
                tick(done)
    finally:
        flush()
    return found


def read_text(model: Any, tap: FeatureTap, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The target's hidden states of one text, and the log-sum-exp of its logits.

    Texts are read one at a time, so that the result does not depend on other texts.

    Args:
        model: the target.
        tap: captures the hidden states.
        tokens: `[n]`.

    Returns:
        The states that the tap captures `[n, k H]`, bfloat16, and the log-sum-exp `[n]`, float32.
    """
    with torch.inference_mode(), tap.open():
        logits = model(input_ids=tokens[None].to(model.device, torch.long), use_cache=False).logits[0]
        return tap.take()[0].bfloat16(), torch.logsumexp(logits.float(), -1)
