"""Types and devices by name."""

import pytest
import torch

from univer.models import ModelError
from univer.models.precision import default_device, default_dtype, resolve_device, resolve_dtype

CPU = torch.device("cpu")


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
def test_types_are_found_by_name_and_by_themselves(kind: torch.dtype) -> None:
    assert resolve_dtype(str(kind).removeprefix("torch."), CPU) == kind
    assert resolve_dtype(kind, CPU) == kind


@pytest.mark.parametrize("kind", ["int8", "bf16", "", torch.int64])
def test_other_types_are_refused_with_the_ones_there_are(kind: str | torch.dtype) -> None:
    with pytest.raises(ModelError, match="float32, bfloat16, float16"):
        resolve_dtype(kind, CPU)


def test_the_default_type_follows_the_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    for able, kind in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda able=able: able)
        assert default_dtype(CPU) == kind
        assert resolve_dtype(None, CPU) == kind
    assert default_dtype(torch.device("meta")) == torch.float32


def test_devices_are_checked_before_anything_is_loaded() -> None:
    assert resolve_device("cpu") == CPU
    assert resolve_device(None) == default_device()
    with pytest.raises(ModelError, match="unknown device 'gpu'"):
        resolve_device("gpu")
    with pytest.raises(ModelError, match="cuda:99"):
        resolve_device("cuda:99")
