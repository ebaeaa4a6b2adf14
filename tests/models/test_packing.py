"""Packed linear layers: the same product, and plain layers again wherever the blocks do not serve."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from univer.models.packing import PackedLinear, can_pack, pack

pytestmark = pytest.mark.skipif(not can_pack(), reason="this torch comes without oneDNN")


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (1, 5), (2, 3, 4), (128,), (129,), (0,)])
def test_product_is_that_of_the_plain_layer(shape: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(0)
    plain = nn.Linear(48, 80, bias=bias)
    packed, inputs = PackedLinear(plain), torch.randn(*shape, 48)
    with torch.no_grad():
        torch.testing.assert_close(packed(inputs), plain(inputs), rtol=1e-5, atol=1e-5)
    assert packed.weight is plain.weight
    assert packed.bias is plain.bias


def test_inputs_that_are_not_contiguous() -> None:
    layer, inputs = nn.Linear(48, 80), torch.randn(6, 2, 48).transpose(0, 1)
    with torch.inference_mode():
        torch.testing.assert_close(PackedLinear(layer)(inputs), layer(inputs), rtol=1e-5, atol=1e-5)


def test_gradients_flow() -> None:
    layer = PackedLinear(nn.Linear(8, 8))
    layer(torch.randn(5, 8)).sum().backward()
    assert layer.weight.grad is not None


def test_packed_again_after_the_weights_changed() -> None:
    layer = PackedLinear(nn.Linear(8, 8))
    with torch.no_grad():
        layer.weight.mul_(2)
        layer.pack()
        inputs = torch.randn(5, 8)
        torch.testing.assert_close(layer(inputs), nn.functional.linear(inputs, layer.weight, layer.bias))


@pytest.mark.parametrize("move", [copy.deepcopy, lambda layer: layer.double(), lambda layer: layer.bfloat16()])
def test_copies_and_other_types_go_on_without_blocks(move: object) -> None:
    moved = move(PackedLinear(nn.Linear(8, 8)))  # type: ignore[operator]
    inputs = torch.randn(5, 8, dtype=moved.weight.dtype)
    with torch.no_grad():
        assert torch.equal(moved(inputs), nn.functional.linear(inputs, moved.weight, moved.bias))


def test_only_float32_layers_of_the_very_class_are_packed() -> None:
    class Own(nn.Linear):
        pass

    model = nn.ModuleList([nn.Linear(4, 4), Own(4, 4), nn.Linear(4, 4).bfloat16(), nn.Sequential(nn.Linear(4, 4))])
    names = list(model.state_dict())
    pack(model)
    assert [type(layer).__name__ for layer in model] == ["PackedLinear", "Own", "Linear", "Sequential"]
    assert type(model[3][0]) is PackedLinear  # type: ignore[index]
    assert list(model.state_dict()) == names


def test_a_model_above_the_limit_is_left_alone() -> None:
    assert type(pack(nn.Sequential(nn.Linear(4, 4)), most_bytes=63)[0]) is nn.Linear
    assert type(pack(nn.Sequential(nn.Linear(4, 4)), most_bytes=64)[0]) is PackedLinear
