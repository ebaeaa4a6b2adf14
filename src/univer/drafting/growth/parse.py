"""From what a user names to a growth policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from univer.drafting.growth.base import SHORT_NAMES, TreePolicy
from univer.drafting.growth.confidence import Eagle2, OptTree
from univer.drafting.growth.grow import Grow
from univer.drafting.growth.static import Static
from univer.drafting.shapes import Shape, parse_shape

TreeSpec = str | Sequence[int] | Sequence[Sequence[int]] | Shape | TreePolicy

POLICIES: dict[str, type[Any]] = {"grow": Grow, "eagle2": Eagle2, "opt": OptTree}


def parse_tree(spec: TreeSpec) -> TreePolicy:
    """Return the growth policy that a user names.

    Args:
        spec: `"grow"`, `"eagle2"` or `"opt"`, with parameters as in `"grow:nodes=48,depth=6"`; a shape in any form that
            `parse_shape` accepts, lists also as JSON text; or a policy.

    Raises:
        ValueError: it does not describe a tree, or a parameter is unknown or out of range.

    Example:
        >>> parse_tree("2x5").max_nodes, parse_tree("[-1, 0, 0]").max_nodes
        (62, 2)
        >>> parse_tree("eagle2:nodes=40,depth=5").name
        'eagle2:nodes=40,depth=5'
    """
    if isinstance(spec, TreePolicy):
        return spec
    if isinstance(spec, str) and (kind := spec.partition(":")[0]) in POLICIES:
        policy: TreePolicy = POLICIES[kind](**_parameters(kind, spec.partition(":")[2]))
        return policy
    if isinstance(spec, Shape):
        return Static(spec)
    return Static(parse_shape(_listed(spec) if isinstance(spec, str) and spec.startswith("[") else spec, "mixed"))


def _listed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"the tree {text!r} is not a JSON list: {error}") from error


def _parameters(kind: str, text: str) -> dict[str, float]:
    """Parse `"nodes=48,depth=6"` into parameters by field name."""
    names = {SHORT_NAMES.get(field.name, field.name): field.name for field in fields(POLICIES[kind])}
    found: dict[str, float] = {}
    for part in text.split(",") if text else ():
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in names:
            raise ValueError(
                f"the tree policy {kind!r} has no parameter {part!r}; it takes {', '.join(names)}, "
                f"as in '{kind}:nodes=48,depth=6'"
            )
        if names[name] in found:
            raise ValueError(f"the tree policy {kind!r} is given {name} twice")
        try:
            found[names[name]] = float(value) if any(sign in value for sign in ".eE") else int(value)
        except ValueError:
            raise ValueError(f"{name} of the tree policy {kind!r} must be a number, got {value!r}") from None
    return found
