"""Packed linear layers: the same product, and plain layers again wherever the blocks do not serve."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from univer.models.packing import PackedLinear, can_pack, pack, repack

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


def _by_optimizer(layer: PackedLinear) -> None:
    layer(torch.randn(5, 8)).sum().backward()
    torch.optim.SGD(layer.parameters(), lr=1.0).step()


def _by_other_data(layer: PackedLinear) -> None:
    # The second one may be given the memory of the first weights, if nothing holds on to that.
    for _ in range(2):
        layer.weight.data = torch.randn(8, 8)


EDITS = {
    "load_state_dict": lambda layer: layer.load_state_dict(nn.Linear(8, 8).state_dict()),
    "assign": lambda layer: layer.load_state_dict(nn.Linear(8, 8).state_dict(), assign=True),
    "copy_": lambda layer: layer.weight.copy_(torch.randn(8, 8)),
    "parameter": lambda layer: setattr(layer, "weight", nn.Parameter(torch.randn(8, 8))),
    "data": _by_other_data,
    "optimizer": _by_optimizer,
    "repack": lambda layer: (layer.weight.data.mul_(2), repack(layer)),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_found_01_weights_that_were_edited_are_packed_anew(edit: str, mode: Any) -> None:
    torch.manual_seed(0)
    layer, inputs = PackedLinear(nn.Linear(8, 8)), torch.randn(5, 8)
    with mode():
        before = layer(inputs)
    for _ in range(3):
        with torch.set_grad_enabled(edit == "optimizer"):
            EDITS[edit](layer)
        with mode():
            after = layer(inputs)
            torch.testing.assert_close(after, nn.functional.linear(inputs, layer.weight, layer.bias))
        assert (after - before).abs().max() > 0.01
        before = after


def test_found_01_weights_of_another_type_are_not_packed() -> None:
    layer = PackedLinear(nn.Linear(8, 8))
    layer.weight, layer.bias = nn.Parameter(layer.weight.detach().double()), None
    with torch.no_grad():
        assert layer(torch.ones(5, 8).double()).dtype == torch.float64


def test_found_11_under_autocast_and_for_other_types_the_layer_is_a_plain_one() -> None:
    plain = nn.Linear(48, 80)
    packed, inputs = PackedLinear(plain), torch.randn(5, 48)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(packed(inputs), plain(inputs))
        assert torch.equal(packed(inputs.bfloat16()), plain(inputs.bfloat16()))


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
