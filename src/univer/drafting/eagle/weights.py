"""Tensors of a checkpoint directory, from safetensors or, as plain tensors only, from pickles."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import torch
from torch import Tensor

# Names of the files, in the order in which they are searched for; each may be replaced by parts and their index.
FILES = ("model.safetensors", "pytorch_model.bin")


def read_tensors(directory: Path) -> dict[str, Tensor]:
    """All tensors of a checkpoint, on the CPU.

    Args:
        directory: holds `model.safetensors` or `pytorch_model.bin`, or several parts and their index.

    Returns:
        Tensors by name.

    Raises:
        ValueError: there is no such file, or it cannot be read as plain tensors.
    """
    return {name: tensor for path in weight_files(directory) for name, tensor in _read(path).items()}


def weight_files(directory: Path) -> list[Path]:
    """The files that hold a checkpoint's tensors.

    Raises:
        ValueError: there are none, or a part is missing.
    """
    for name in FILES:
        index = directory / f"{name}.index.json"
        if index.is_file():
            parts = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
            missing = [part for part in parts if not (directory / part).is_file() or Path(part).name != part]
            if missing:
                raise ValueError(f"{directory} lacks {missing[0]}, which its {index.name} lists")
            return [directory / part for part in parts]
        if (directory / name).is_file():
            return [directory / name]
    raise ValueError(f"{directory} holds no weights: neither {' nor '.join(FILES)}, nor an index of their parts")


def _read(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name."""
    if path.suffix == ".safetensors":
        try:
            from safetensors import SafetensorError
            from safetensors.torch import load_file
        except ImportError as error:
            raise ValueError(f"reading {path.name} needs more packages: pip install 'univer[all]'") from error
        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(f"{path} cannot be read as safetensors: {error}") from error
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise ValueError(f"{path} is not loaded: it is not a pickle of plain tensors") from error
    if not isinstance(tensors, dict) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise ValueError(f"{path} is not loaded: it holds more than tensors by name")
    return tensors
