"""`univer methods`: the verification methods that there are."""

import json
from typing import Annotated

import typer

__all__ = ["methods"]

COLUMNS = ("name", "draft law", "rule", "coupling", "exact", "paper")


def methods(
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects instead of a table.")] = False,
) -> None:
    """List the verification methods: built in, of installed packages, registered."""
    import univer

    rows: list[dict[str, str | bool]] = [
        {
            "name": method.name,
            "draft_law": method.draft_law,
            "rule": type(method.rule).__name__,
            "coupling": method.coupling.name,
            "exact": method.exact,
            "paper": method.paper,
        }
        for method in univer.methods().values()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from univer.cli.terminal import print_table

    print_table(COLUMNS, [[_cell(row[column.replace(" ", "_")]) for column in COLUMNS] for row in rows])


def _cell(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"
