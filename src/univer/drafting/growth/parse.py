"""The growth policy that a user names."""

from __future__ import annotations

from collections.abc import Sequence

from univer.drafting.growth.base import TreePolicy
from univer.drafting.growth.static import Static
from univer.drafting.shapes import Shape, parse_shape

TreeSpec = str | Sequence[int] | Sequence[Sequence[int]] | Shape | TreePolicy


def parse_tree(spec: TreeSpec) -> TreePolicy:
    """The policy that a user names.

    Args:
        spec: what `parse_shape` takes, or a policy.

    Raises:
        ValueError: it is no tree.

    Example:
        >>> parse_tree("2x5").max_nodes
        62
    """
    if isinstance(spec, TreePolicy):
        return spec
    return Static(spec if isinstance(spec, Shape) else parse_shape(spec, "mixed"))
