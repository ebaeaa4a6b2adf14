"""Weights laid out for passes over a few rows, which is what a drafted tree asks of a CPU.

In float32 a CPU multiplies a weight matrix by two or three rows one after the other, and by some tens of rows by
copying the whole matrix into blocks first, on every call, which costs more than the product. oneDNN, which comes with
torch, can keep the blocks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

# Rows for which the blocks pay: a single one is multiplied without a copy, more than these make up for it.
FEWEST_ROWS, MOST_ROWS = 2, 128
# Blocks are a second copy of the weights. Models with more bytes than this are packed on demand only.
PACKED_BYTES = 8 << 30


class PackedLinear(nn.Linear):
    """A linear layer that keeps a second copy of its weights in oneDNN's blocks, for 2 to 128 rows without gradients.

    The parameters are those of the layer that it stands for. Other weights, and weights edited in place, are noticed at
    the next pass and packed anew. An edit through `weight.data`, or of weights made in inference mode, leaves no trace:
    call `repack` after it. Copies, and layers moved to another type or device, go on without blocks; so does a pass
    under autocast, in a compiled graph, or over another type of input.

    Args:
        layer: the layer, in float32 on the CPU.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=False, device="meta")
        self.weight, self.bias = layer.weight, layer.bias
        self.train(layer.training)
        self.pack()

    def pack(self) -> None:
        """Make the blocks from the weights as they are; none for weights that are not in float32 on the CPU."""
        self._packed: _Packed | None = _Packed(self.weight) if _can_be_packed(self.weight) else None

    def forward(self, input: Tensor) -> Tensor:
        """The product, as of any linear layer."""
        rows = input.numel() // self.in_features
        if (
            self._packed is None
            or torch.is_grad_enabled()
            or not FEWEST_ROWS <= rows <= MOST_ROWS
            or input.dtype != torch.float32
            or torch.compiler.is_compiling()
            or torch.is_autocast_enabled("cpu")
        ):
            return super().forward(input)
        if not self._packed.made_of(self.weight):
            self.pack()
            return self(input)  # type: ignore[no-any-return]
        product: Tensor = torch.ops.mkldnn._linear_pointwise(input, self._packed.blocks, self.bias, "none", [], "")
        return product

    def _apply(self, *args: Any, **kwargs: Any) -> PackedLinear:
        self._packed = None
        super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]
        return self

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_packed": None}


class _Packed:
    """Blocks, and the weights that they were made of."""

    def __init__(self, weight: Tensor) -> None:
        # The second one holds on to the memory, so that no other weights can lie at the same address.
        self._weight, self._memory, self._version = weight, weight.detach(), _version(weight)
        self.blocks: Tensor = torch.ops.mkldnn._reorder_linear_weight(self._memory, MOST_ROWS)

    def made_of(self, weight: Tensor) -> bool:
        """Whether these are the weights, unchanged as far as torch counts edits."""
        same = weight is self._weight and weight.data_ptr() == self._memory.data_ptr()
        return same and _version(weight) == self._version


def _version(weight: Tensor) -> int:
    return 0 if weight.is_inference() else weight._version


def _can_be_packed(weight: Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32


def can_pack() -> bool:
    """Whether this torch has oneDNN with the two operators that `PackedLinear` calls."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and all(
        hasattr(torch.ops.mkldnn, name) for name in ("_reorder_linear_weight", "_linear_pointwise")
    )


def pack(model: Any, most_bytes: int | None = None) -> Any:
    """Pack the linear layers of a model, in place, that are in float32 on the CPU.

    Args:
        model: a module; layers of classes derived from `torch.nn.Linear` are left alone.
        most_bytes: leave the model as it is where the blocks would take more memory than this.

    Returns:
        The model.

    Example:
        >>> type(pack(nn.Sequential(nn.Linear(8, 8)))[0]).__name__
        'PackedLinear'
    """
    places = [
        (parent, name, layer)
        for parent in model.modules()
        for name, layer in parent.named_children()
        if type(layer) is nn.Linear and _can_be_packed(layer.weight)
    ]
    size = sum(layer.weight.numel() * layer.weight.element_size() for _, _, layer in places)
    if can_pack() and (most_bytes is None or size <= most_bytes):
        for parent, name, layer in places:
            setattr(parent, name, PackedLinear(layer))
    return model


def repack(model: Any) -> Any:
    """Make the blocks of all packed layers anew, after an edit of the weights that torch keeps no count of.

    Args:
        model: a module.

    Returns:
        The model.

    Example:
        >>> layer = PackedLinear(nn.Linear(8, 8))
        >>> _ = layer.weight.data.mul_(2)
        >>> inputs = torch.ones(4, 8)
        >>> with torch.no_grad():
        ...     torch.allclose(repack(layer)(inputs), nn.functional.linear(inputs, layer.weight, layer.bias))
        True
    """
    for layer in model.modules():
        if isinstance(layer, PackedLinear):
            layer.pack()
    return model
