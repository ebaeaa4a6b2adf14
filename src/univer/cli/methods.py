"""`univer methods`: the verification methods."""

import json
from typing import Annotated

import typer

__all__ = ["methods"]

COLUMNS = ("name", "description", "sampling", "coupling", "exact", "paper")
RECOMMENDED = "univer"
LEGEND = """
sampling: how the children of a node are drawn by default: chain (one child), iid (independent draws), swor (without
replacement), fixed (the most likely tokens), greedy (fixed children and one sampled child), mixed (fixed children and
several sampled ones). Any other tree whose children fit the method works too.
coupling: stepwise (verified level by level) or lifted (verified as a whole with prefix scales: keeps more tokens).
exact: whether the output follows the target distribution."""


def methods(
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects instead of a table.")] = False,
) -> None:
    """List the verification methods: built-in, from installed packages, and registered ones."""
    import univer

    # A stable sort: the recommended method first, the others in the order of the registry.
    listed = sorted(univer.methods().values(), key=lambda method: method.name != RECOMMENDED)
    if as_json:
        rows = [
            {
                "name": method.name,
                "title": method.title,
                "description": method.description,
                "draft_law": method.draft_law,
                "rule": type(method.rule).__name__,
                "coupling": method.coupling.name,
                "exact": method.exact,
                "paper": method.paper,
            }
            for method in listed
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    from univer.cli.terminal import print_table

    cells = [[m.name, m.description, m.draft_law, m.coupling.name, "yes" if m.exact else "no", m.paper] for m in listed]
    print_table(COLUMNS, cells)
    typer.echo(LEGEND)
