"""Rotary positions: frequencies, and the rotation of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def frequencies(head_dim: int, theta: float, scaling: Mapping[str, Any] | None = None) -> Tensor:
    """Angle per position of each pair of channels (Su et al., arXiv 2104.09864, section 3.2.2).

    Pair `j` turns by `theta^(-2j / d)` per position. `linear` divides all of them by a factor. `llama3` does so for
    wavelengths above `L / low`, keeps those below `L / high` and interpolates in between, with `L` the length that the
    model was first trained on.

    Args:
        head_dim: width d of a head.
        theta: base.
        scaling: table of the rescaling as in transformers, or None.

    Returns:
        `[d / 2]`, float32, radians.

    Example:
        >>> frequencies(4, 10000.0)
        tensor([1.0000, 0.0100])
    """
    # On the CPU, also where a head is created on the device `meta`.
    speeds = 1.0 / theta ** (torch.arange(0, head_dim, 2, dtype=torch.float32, device="cpu") / head_dim)
    kind = scaling.get("rope_type", scaling.get("type", "default")) if scaling else "default"
    if scaling is None or kind == "default":
        return speeds
    factor = float(scaling["factor"])
    if kind == "linear":
        return speeds / factor
    low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
    turns = float(scaling["original_max_position_embeddings"]) * speeds / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return speeds * (kept + (1 - kept) / factor)


def rotate(states: Tensor, positions: Tensor, speeds: Tensor) -> Tensor:
    """Turn the pairs of channels (j, j + d / 2) of queries or keys by their angles, which are computed in float32.

    Args:
        states: `[b, n, h, d]`.
        positions: `[b, n]`.
        speeds: `[d / 2]`, radians per position.

    Returns:
        `[b, n, h, d]`.
    """
    angles = (positions[..., None].float() * speeds)[..., None, :]
    cosines, sines = angles.cos().to(states.dtype), angles.sin().to(states.dtype)
    first, second = states.chunk(2, -1)
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)
