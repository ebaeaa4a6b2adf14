"""One prompt's part of a trace: its packed trees as one safetensors file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from univer.bench.traces.packing import PackedTree
from univer.tree import DRAFT_LAWS

# Arrays of a packed tree with one entry per node, per kept token, per kept token of a drafted row, per dropped child.
PER_NODE = ("tokens", "parents", "slots", "counts", "target_rest", "draft_rest")
PER_TOKEN = {"kept": "kept", "target": "kept", "draft": "draft", "dropped": "dropped"}
DTYPES = {
    "tokens": torch.int32,
    "parents": torch.int32,
    "slots": torch.uint8,
    "counts": torch.int32,
    "target_rest": torch.float64,
    "draft_rest": torch.float64,
    "kept": torch.int32,
    "target": torch.float32,
    "draft": torch.float32,
    "dropped": torch.int32,
}
# Columns of the table of trees.
COLUMNS = ("place", "growth", "law", "planned", "nodes", "kept", "draft", "dropped")


@dataclass(frozen=True)
class RecordedTree:
    """A drafted tree of a trace.

    Attributes:
        place: number of tokens of the text before it.
        growth: which of the trace's growths it belongs to.
        tree: the tree.
    """

    place: int
    growth: int
    tree: PackedTree


def write_shard(trees: Sequence[RecordedTree]) -> bytes:
    """The content of a shard.

    Args:
        trees: of one prompt, at least one.
    """
    from safetensors.torch import save

    table = torch.tensor([_row(recorded) for recorded in trees], dtype=torch.int64)
    arrays = {name: torch.cat([getattr(recorded.tree, name) for recorded in trees]).contiguous() for name in DTYPES}
    return save({"trees": table, **arrays})


def read_shard(content: bytes) -> list[RecordedTree]:
    """The trees of a shard.

    Raises:
        ValueError: it is cut off, or its arrays do not fit each other.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        arrays = load(content)
    except SafetensorError as error:
        raise ValueError(f"it is no whole safetensors file ({error})") from error
    _check(arrays)
    table: list[dict[str, int]] = [dict(zip(COLUMNS, row, strict=True)) for row in arrays["trees"].tolist()]
    parts: dict[str, Any] = {}
    for name in DTYPES:
        sizes = [row["nodes" if name in PER_NODE else PER_TOKEN[name]] for row in table]
        if sum(sizes) != len(arrays[name]) or min(sizes, default=0) < 0:
            raise ValueError(f"its array {name!r} has {len(arrays[name])} entries, its table of trees {sum(sizes)}")
        parts[name] = torch.split(arrays[name], sizes)
    found = []
    for number, row in enumerate(table):
        own = {name: parts[name][number] for name in DTYPES}
        if int(own["counts"].sum()) != row["kept"] or not 0 <= row["law"] < len(DRAFT_LAWS):
            raise ValueError(f"the rows of its tree {number} do not fit its table")
        packed = PackedTree(law=DRAFT_LAWS[row["law"]], planned=bool(row["planned"]), **own)
        found.append(RecordedTree(row["place"], row["growth"], packed))
    return found


def _row(recorded: RecordedTree) -> list[int]:
    tree = recorded.tree
    sizes = [len(array) for array in (tree.tokens, tree.kept, tree.draft, tree.dropped)]
    return [recorded.place, recorded.growth, DRAFT_LAWS.index(tree.law), int(tree.planned), *sizes]


def _check(arrays: dict[str, Tensor]) -> None:
    wanted = {"trees": torch.int64, **DTYPES}
    for name, dtype in wanted.items():
        if name not in arrays or arrays[name].dtype != dtype:
            raise ValueError(f"it lacks the array {name!r} of type {dtype}")
    if arrays["trees"].dim() != 2 or arrays["trees"].shape[1] != len(COLUMNS):
        raise ValueError(f"its table of trees must have {len(COLUMNS)} columns")
