"""The rows of a comparison: which method on which tree, and the trees that have to be drafted for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from univer.couplings.order import ORDERS
from univer.drafting.base import Draft
from univer.drafting.growth import Static, TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.engine.contexts import GrowthScheme
from univer.engine.plan import DEFAULT_TREE, slots_of, suggested_tree
from univer.methods import Method, methods, resolve


@dataclass(frozen=True)
class Row:
    """A method with its sibling order on a tree.

    Attributes:
        tree: name of the tree.
        name: name of the method in tables, e.g. `univer (gain)`.
        method: the method.
        order: sibling order.
        policy: how its trees grow; for a method that takes chains only, a chain as deep as the tree.
        law: the sampling scheme of its trees.
    """

    tree: str
    name: str
    method: Method
    order: str
    policy: TreePolicy
    law: str

    @property
    def growth(self) -> GrowthScheme:
        """What its trees depend on: rows that share it share their trees."""
        return self.policy, self.law

    @property
    def full_name(self) -> str:
        """The method as `rows_for` takes it: `name` or `name:order`."""
        return self.method.name if self.name == self.method.name else f"{self.method.name}:{self.order}"


def rows_for(trees: Sequence[str], names: Sequence[str] | None = None) -> list[Row]:
    """The rows of a comparison.

    Every method drafts by its own sampling scheme. Methods whose coupling uses the sibling order get a second row with
    the order `gain`, if it can make a difference.

    Args:
        trees: trees by name, such as `2x5` or `grow`.
        names: methods to compare, `name:order` for an order; by default all that take such a tree, but those that solve
            a linear programme.

    Raises:
        ValueError: an unknown method, order or tree; a method that is named and does not take such trees; or a row that
            is named twice.

    Example:
        >>> [row.name for row in rows_for(["2x5"], ["univer", "univer:gain", "token"])]
        ['univer', 'univer (gain)', 'token']
    """
    found: dict[tuple[str, str], Row] = {}
    for tree in trees:
        for full in names or _default_names(tree):
            row = _row(tree, full)
            if (tree, row.name) in found:
                raise ValueError(f"{row.name!r} on the tree {tree!r} is named twice")
            found[tree, row.name] = row
    return list(found.values())


def default_trees(draft: Draft, names: Sequence[str] | None = None) -> list[str]:
    """The tree to compare methods on where none is named: that of `generate`, if the methods take such trees.

    Args:
        draft: the draft.
        names: methods to compare, as `rows_for` takes them.
    """
    tree = suggested_tree(draft)
    try:
        rows_for([tree], names)
    except ValueError:
        tree = DEFAULT_TREE
    return [tree]


def growths_of(rows: Sequence[Row]) -> list[GrowthScheme]:
    """What has to be drafted for some rows."""
    return list(dict.fromkeys(row.growth for row in rows))


def describe(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows and growths as a manifest has them.

    Returns:
        `rows` with `tree` and `method` (`name` or `name:order`), `growths` with `tree` and `law`.

    Example:
        >>> describe(rows_for(["2x2"], ["univer:gain"]))["growths"]
        [{'tree': '2x2', 'law': 'greedy'}]
    """
    growths = {row.growth: row.tree if parse_tree(row.tree) == row.policy else row.policy.name for row in rows}
    return {
        "rows": [{"tree": row.tree, "method": row.full_name} for row in rows],
        "growths": [{"tree": tree, "law": law} for (_, law), tree in growths.items()],
    }


def described_growths(described: Sequence[Mapping[str, str]]) -> list[GrowthScheme]:
    """The growths that a manifest lists, see `describe`.

    Raises:
        ValueError: one is not known here.
    """
    return [(parse_tree(growth["tree"]), growth["law"]) for growth in described]


def chosen_rows(
    settings: Mapping[str, Any], trees: Sequence[str] | None = None, names: Sequence[str] | None = None
) -> list[Row]:
    """The rows to evaluate on a trace.

    Args:
        settings: of the trace.
        trees: trees by name; those of the trace by default.
        names: methods, as `rows_for` takes them; by default those that the trace was recorded for.

    Raises:
        ValueError: a row needs trees that the trace lacks, or is not known.
    """
    recorded: dict[str, list[str]] = {}
    for row in settings["rows"]:
        recorded.setdefault(row["tree"], []).append(row["method"])
    for tree in trees or ():
        if tree not in recorded:
            raise ValueError(f"the trace has no tree {tree!r}; it has {', '.join(recorded)}")
    rows = [row for tree in trees or recorded for row in rows_for([tree], names or recorded[tree])]
    known = described_growths(settings["growths"])
    for row in rows:
        if row.growth not in known:
            raise ValueError(
                f"the method {row.method.name!r} needs {row.tree} trees of the sampling scheme {row.law!r}, which the "
                f"trace lacks: it was recorded for {', '.join(recorded[row.tree])}; record one with "
                f"--method {row.full_name}"
            )
    return rows


def _row(tree: str, full: str) -> Row:
    name, _, order = full.partition(":")
    method = resolve(name)
    if order and order not in ORDERS:
        raise ValueError(f"unknown sibling order {order!r}; known are {', '.join(ORDERS)}")
    policy = _policy(tree, method)
    shape = policy.widest(method.draft_law)
    method.check(slots_of(shape), order or method.order)
    return Row(tree, f"{name} ({order})" if order else name, method, order or method.order, policy, shape.law)


def _policy(tree: str, method: Method) -> TreePolicy:
    policy = parse_tree(tree)
    if method.draft_law == "chain" and isinstance(policy, Static):
        return parse_tree(f"chain-{policy.max_depth}")
    return policy


def _default_names(tree: str) -> list[str]:
    """All methods that take such a tree, with the order `gain` where it can make a difference."""
    parse_tree(tree)
    names = []
    for name, method in methods().items():
        if name.startswith("optimal"):
            continue
        try:
            _row(tree, name)
        except ValueError:
            continue
        names.append(name)
        if method.coupling.uses_order and hasattr(method.rule, "expected_acceptance") and method.draft_law != "chain":
            names.append(f"{name}:gain")
    return names
