"""A second implementation of verification, for one tree in plain steps, which tests compare with the package's."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from univer import DraftTree, Method
from univer.couplings.base import siblings_of
from univer.laws import ratio


def walk(tree: DraftTree, target_laws: Tensor, method: Method, order: str, uniforms: list[float]) -> int:
    """The node at which the path of a tree ends, given one uniform per node."""
    return (_lifted if method.coupling.name == "lifted" else _stepwise)(tree, target_laws, method, order, uniforms)


def _lifted(tree: DraftTree, target_laws: Tensor, method: Method, order: str, uniforms: list[float]) -> int:
    """Go through the tree in post-order, node by node."""
    allocation = method.coupling.allocate(tree, target_laws, method.rule, order)
    accept = allocation.accept.tolist()
    assert allocation.position is not None
    place = allocation.position.tolist()
    children = [sorted(siblings, key=place.__getitem__) for siblings in tree.children]

    def kept(node: int) -> int | None:
        for child in children[node]:
            if (end := kept(child)) is not None:
                return end
        return node if uniforms[node] < accept[node] else None

    end = kept(0)
    assert end is not None, "the root never fails"
    return end


def _stepwise(tree: DraftTree, target_laws: Tensor, method: Method, order: str, uniforms: list[float]) -> int:
    """Go down the tree, asking the rule only on the kept path."""
    one = target_laws.new_ones(1)
    children = tree.children
    node = 0
    while children[node]:
        (group,) = tree.topology.groups(np.array([node]))
        coupling = method.rule.couple(siblings_of(tree, target_laws, group, one))
        remaining = coupling.children.flip(1).cumsum(1).flip(1) + (coupling.residual + coupling.rejected)[:, None]
        accept = ratio(coupling.children, remaining)[0].tolist()
        passed = [child for child, chance in zip(children[node], accept, strict=True) if uniforms[child] < chance]
        if not passed:
            break
        node = passed[0]
    return node
