"""Heads that come with the package, and the targets that they were trained for."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch

from univer.drafting.eagle.checkpoint import read_settings
from univer.drafting.eagle.target import token_embeddings

HEADS = Path(__file__).parent / "heads"
# Number of rows of the token embeddings in a fingerprint.
ROWS = 16


def fingerprint(target: Any) -> str:
    """A short text that differs between models with other weights.

    It is the start of the SHA-256 of some rows of the token embeddings in bfloat16, so that it is the same for a model
    stored in bfloat16 and loaded in float32.

    Args:
        target: a causal language model of transformers.

    Raises:
        ValueError: the embeddings are quantised or not loaded.
    """
    table = token_embeddings(target)
    rows = torch.linspace(0, len(table) - 1, ROWS).long()
    picked = table.detach()[rows.to(table.device)].to("cpu", torch.bfloat16)
    return hashlib.sha256(picked.view(torch.int16).numpy().tobytes()).hexdigest()[:16]


def target_note(target: Any, *names: str) -> dict[str, Any]:
    """The entry of a head's `config.json` on the target that it was trained for.

    Args:
        target: the target.
        names: names under which the target is loaded.
    """
    return {"target": {"names": list(names), "fingerprint": fingerprint(target)}}


def shipped_head(target: Any, name: str | None = None) -> Path | None:
    """The head of the package that was trained for a target.

    Args:
        target: a causal language model of transformers.
        name: name under which it was loaded; None to compare the weights alone.

    Returns:
        The head's directory, or None if there is none.
    """
    if not HEADS.is_dir():
        return None
    for directory in sorted(path.parent for path in HEADS.glob("*/config.json")):
        note = read_settings(directory).get("target") or {}
        if (name is None or name in note.get("names", ())) and note.get("fingerprint") == fingerprint(target):
            return directory
    return None
