"""What goes to a terminal and what goes to a file or a pipe."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

__all__ = ["print_table", "standard_output"]


def standard_output() -> Console:
    """A console on stdout that writes colours to terminals only and leaves text as it is."""
    return Console(highlight=False, markup=False, emoji=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their headings; in a pipe one line each, however long.

    Args:
        columns: The headings.
        rows: As many cells each as there are headings.
    """
    console = standard_output()
    if console.is_terminal:
        table = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        console.out("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
