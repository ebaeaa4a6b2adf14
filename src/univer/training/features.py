"""Training data of a head: the target's hidden states and its distributions, computed once and kept on disk."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from univer.files import replacing
from univer.runtime.features import FeatureTap
from univer.training.texts import Texts


@dataclass(frozen=True)
class FeatureBatch:
    """A batch of texts with the target's hidden states and distributions, padded on the right with zeros.

    Attributes:
        tokens: `[b, L]`, int64.
        lengths: `[b]`, int64, see `Texts`.
        starts: `[b]`, int64, see `Texts`.
        features: `[b, L, k H]`, bfloat16: the hidden states that the head reads.
        last: `[b, L, H]`, bfloat16: the hidden states that the target's output layer reads.
        log_total: `[b, L]`, float32: the log-sum-exp of the target's logits over the whole vocabulary.
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
        texts: the texts.
        files: for each text the file of its `tokens`, `features`, `last` and `log_total`, see `FeatureBatch`.
    """

    texts: Texts
    files: Sequence[Path]

    def __len__(self) -> int:
        return len(self.texts)

    def batch(self, rows: Tensor) -> FeatureBatch:
        """A batch of texts, on the CPU.

        Args:
            rows: `[b]`, int64, indices of the texts.
        """
        from safetensors.torch import load_file

        stored = [load_file(self.files[row]) for row in rows.tolist()]
        tokens, *states = (
            pad_sequence([tensors[name] for tensors in stored], batch_first=True)
            for name in ("tokens", "features", "last", "log_total")
        )
        return FeatureBatch(tokens.long(), self.texts.lengths[rows], self.texts.starts[rows], *states)


def compute_features(
    model: Any, texts: Texts, layers: Sequence[int], folder: Path, tick: Callable[[int], None] | None = None
) -> FeatureSet:
    """Compute the target's hidden states of texts, each in a file named after its tokens.

    Args:
        model: the target.
        texts: the texts.
        layers: indices into transformers' `hidden_states`, -1 for the state after the final norm.
        folder: folder of the files; those that exist already are not computed again.
        tick: called with the number of texts done; an exception that it raises stops the computation.

    Returns:
        The texts with their hidden states.

    Raises:
        ValueError: the disk has too little free space.
    """
    from safetensors.torch import save_file

    width, rows = model.config.get_text_config().hidden_size, list(texts.rows())
    names = (hashlib.sha256(f"{list(layers)} {row.tolist()}".encode()).hexdigest()[:32] for row in rows)
    files = [folder / f"{name}.safetensors" for name in names]
    missing = [number for number, file in enumerate(files) if not file.exists()]
    tokens = sum(len(rows[number]) for number in missing)
    needed = tokens * ((len(layers) + 1) * width * torch.bfloat16.itemsize + torch.float32.itemsize)
    if needed > (free := shutil.disk_usage(folder).free):
        raise ValueError(
            f"the target's hidden states take {needed / 1e9:.1f} GB and {folder} has {free / 1e9:.1f} GB left: "
            "train on fewer tokens"
        )
    tap = FeatureTap(model, (*layers, -1))
    for number in missing:
        states, log_total = read_text(model, tap, rows[number])
        features, last = states[:, :-width].cpu().contiguous(), states[:, -width:].cpu().contiguous()
        with replacing(files[number]) as partial:
            tensors = {"tokens": rows[number], "features": features, "last": last, "log_total": log_total.cpu()}
            save_file(tensors, partial)
        if tick is not None:
            tick(number + 1)
    return FeatureSet(texts, files)


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
