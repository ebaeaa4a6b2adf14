"""What policies with parameters have in common: checks, names and the trees that stand for them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from univer.drafting.shapes import LARGEST_TREE

# Text forms may use these in place of the names of fields.
SHORT = {"max_nodes": "nodes", "max_depth": "depth", "score_temperature": "temperature", "mean_nodes": "mean"}


def check_number(policy: str, name: str, value: object, low: float, high: float, *, whole: bool = False) -> None:
    """Refuse a parameter out of range.

    Raises:
        ValueError: with policy, parameter and range.

    Example:
        >>> check_number("eagle2", "depth", 0, 1, 64, whole=True)
        Traceback (most recent call last):
        ...
        ValueError: the tree policy 'eagle2' needs a whole number from 1 to 64 for depth, got 0
    """
    sound = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not sound or not low <= value <= high:  # type: ignore[operator]
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"the tree policy {policy!r} needs {kind} from {low} to {high} for {name}, got {value!r}")


def check_size(policy: str, max_nodes: object, max_depth: object, width: object) -> None:
    """Refuse a size out of range.

    Raises:
        ValueError: as `check_number`.
    """
    check_number(policy, "nodes", max_nodes, 1, LARGEST_TREE - 1, whole=True)
    check_number(policy, "depth", max_depth, 1, 64, whole=True)
    check_number(policy, "top_k", width, 1, 256, whole=True)


def described(kind: str, policy: Any) -> str:
    """Text form of a policy: its kind and the parameters that are not the default ones."""
    changed = [
        f"{SHORT.get(field.name, field.name)}={getattr(policy, field.name):g}"
        for field in fields(policy)
        if field.default is MISSING or getattr(policy, field.name) != field.default
    ]
    return kind + (":" + ",".join(changed) if changed else "")
