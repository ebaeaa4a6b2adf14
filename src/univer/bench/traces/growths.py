"""How a manifest names the rows of a table and the trees that were drafted for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from univer.bench.compare import prepare
from univer.drafting.growth import TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.engine.contexts import Entry

# A row with the name of its tree, and what its trees depend on: policy and draft law.
Row = tuple[str, Entry]
Growth = tuple[TreePolicy, str]


def growths_of(rows: Sequence[Row]) -> list[Growth]:
    """What has to be drafted for some rows."""
    return list(dict.fromkeys(entry.growth for _, entry in rows))


def describe(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows and growths as a manifest has them.

    Returns:
        `rows` with `tree` and `method` (`name` or `name:order`), `growths` with `tree` and `law`.

    Example:
        >>> describe(prepare(["2x2"], ["univer:gain"]).entries)["growths"]
        [{'tree': '2x2', 'law': 'greedy'}]
    """
    growths = {}
    for tree, entry in rows:
        # A chain method drafts a chain in place of the tree that was named.
        growths[entry.growth] = tree if parse_tree(tree) == entry.policy else entry.policy.name
    return {
        "rows": [{"tree": tree, "method": _full_name(entry)} for tree, entry in rows],
        "growths": [{"tree": tree, "law": law} for (_, law), tree in growths.items()],
    }


def recorded_growths(described: Sequence[Mapping[str, str]]) -> list[Growth]:
    """The growths that a manifest lists.

    Raises:
        ValueError: one is not known here.
    """
    return [(parse_tree(own["tree"]), own["law"]) for own in described]


def chosen_rows(
    settings: Mapping[str, Any], trees: Sequence[str] | None = None, names: Sequence[str] | None = None
) -> list[Row]:
    """The rows to evaluate on a trace.

    Args:
        settings: of the trace.
        trees: trees by name; those of the trace by default.
        names: methods, as `entries_for` takes them; by default those that the trace was recorded for.

    Raises:
        ValueError: a row needs trees that the trace lacks, or is not known.
    """
    recorded: dict[str, list[str]] = {}
    for row in settings["rows"]:
        recorded.setdefault(row["tree"], []).append(row["method"])
    for tree in trees or ():
        if tree not in recorded:
            raise ValueError(f"the trace has no tree {tree!r}; it has {', '.join(recorded)}")
    rows = [row for tree in trees or recorded for row in prepare([tree], names or recorded[tree]).entries]
    known = recorded_growths(settings["growths"])
    for tree, entry in rows:
        if entry.growth not in known:
            raise ValueError(
                f"the method {entry.method.name!r} needs trees {tree} by the draft law {entry.law!r}, which the trace "
                f"lacks: it was recorded for {', '.join(dict.fromkeys(recorded[tree]))}; record one with "
                f"--method {_full_name(entry)}"
            )
    return rows


def _full_name(entry: Entry) -> str:
    """The row as `entries_for` takes it."""
    return entry.method.name if entry.name == entry.method.name else f"{entry.method.name}:{entry.order}"
