"""In which floating-point type a model runs on a device, and on which device."""

import torch

from univer.models.errors import ModelError

__all__ = ["default_device", "default_dtype", "resolve_device", "resolve_dtype"]

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def default_device() -> torch.device:
    """The first CUDA device where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def resolve_device(device: str | torch.device | None) -> torch.device:
    """Turn a device's name into a device that is there.

    Args:
        device: Name as torch reads it (`cpu`, `cuda`, `cuda:1`), a device, or None for `default_device()`.

    Returns:
        The device.

    Raises:
        ModelError: No such kind of device, or none on this machine.
    """
    if device is None:
        return default_device()
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise ModelError(f"unknown device {device!r}: use cpu, cuda or cuda:N") from error
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise ModelError(f"device {device!r} is not there: torch sees {torch.cuda.device_count()} CUDA devices")
    return found


def default_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the hardware computes in it, float32 elsewhere.

    Args:
        device: CPUs count as able to where they have the AVX512-BF16 or AMX instructions.

    Returns:
        `torch.bfloat16` or `torch.float32`.
    """
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    elif device.type == "cpu":
        fast = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    else:
        fast = False
    return torch.bfloat16 if fast else torch.float32


def resolve_dtype(dtype: str | torch.dtype | None, device: torch.device) -> torch.dtype:
    """Turn a type's name into a floating-point type.

    Args:
        dtype: `float32`, `bfloat16`, `float16`, the torch type itself, or None for `default_dtype(device)`.
        device: Where the model will run.

    Returns:
        The type.

    Raises:
        ModelError: Not one of the three.

    >>> resolve_dtype("float32", torch.device("cpu"))
    torch.float32
    """
    if dtype is None:
        return default_dtype(device)
    found = _DTYPES.get(dtype) if isinstance(dtype, str) else dtype
    if found is None or found not in _DTYPES.values():
        raise ModelError(f"dtype {dtype!r} is not supported: use one of {', '.join(_DTYPES)}")
    return found
