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

    The parameters are those of the layer that it stands for; whoever changes their values in place has to call `pack`
    again. Copies, and layers moved to another type or device, go on without blocks.

    Args:
        layer: the layer, in float32 on the CPU.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, bias=False, device="meta")
        self.weight, self.bias = layer.weight, layer.bias
        self.train(layer.training)
        self.pack()

    def pack(self) -> None:
        """Make the blocks from the weights as they are."""
        self._blocks: Tensor | None = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach(), MOST_ROWS)

    def forward(self, input: Tensor) -> Tensor:
        """The product, as of any linear layer."""
        rows = input.numel() // self.in_features
        if self._blocks is None or torch.is_grad_enabled() or not FEWEST_ROWS <= rows <= MOST_ROWS:
            return super().forward(input)
        packed: Tensor = torch.ops.mkldnn._linear_pointwise(input, self._blocks, self.bias, "none", [], "")
        return packed

    def _apply(self, *args: Any, **kwargs: Any) -> PackedLinear:
        self._blocks = None
        super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]
        return self

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_blocks": None}


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
        if type(layer) is nn.Linear and layer.weight.device.type == "cpu" and layer.weight.dtype == torch.float32
    ]
    size = sum(layer.weight.numel() * layer.weight.element_size() for _, _, layer in places)
    if can_pack() and (most_bytes is None or size <= most_bytes):
        for parent, name, layer in places:
            setattr(parent, name, PackedLinear(layer))
    return model
