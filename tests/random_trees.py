"""Random drafted trees and target rows for tests."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from univer import DraftTree, methods
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import draft_tree
from univer.drafting.growth.static import StaticGrowth
from univer.drafting.shapes import parse_shape

METHODS = tuple(methods())
SMALL = {"optimal": 5, "optimal-lifted": 5}  # vocabulary of the methods that solve a programme per node


def random_law(shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Tensor:
    """Peaked random rows with some zeros."""
    rows = torch.rand(*shape, generator=generator, dtype=torch.float64) ** 3
    rows = rows * (torch.rand(*shape, generator=generator) > 0.15)
    rows[..., 0] += 1e-3
    return (rows / rows.sum(-1, keepdim=True)).to(dtype)


def shape_for(method: str) -> str:
    return "chain-4" if methods()[method].draft_law == "chain" else "2x3"


def random_tree(
    law: str, spec: str, vocabulary: int, seed: int, dtype: torch.dtype = torch.float64
) -> tuple[DraftTree, Tensor]:
    """A tree drawn by `law` and target rows that resemble the draft's."""
    generator = torch.Generator().manual_seed(seed)
    growth = StaticGrowth(parse_shape(spec, law=law))

    def rows(grown: TreeBuilder, nodes: Sequence[int]) -> Tensor:
        return random_law((len(nodes), vocabulary), generator, dtype)

    tree = draft_tree(0, growth, rows, generator, torch.device("cpu")).tree
    target = random_law((len(tree), vocabulary), generator, dtype)
    assert isinstance(tree.draft_laws, dict)
    for node, row in tree.draft_laws.items():
        target[node] = (target[node] + row) / 2
    return tree, target


def tree_for(method: str, seed: int, dtype: torch.dtype = torch.float64) -> tuple[DraftTree, Tensor]:
    """A tree that the named method takes."""
    return random_tree(methods()[method].draft_law, shape_for(method), SMALL.get(method, 12), seed, dtype)
