"""What goes to a terminal and what goes to a file or a pipe."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["duration", "loading", "print_table", "progress", "standard_output"]


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


def duration(seconds: float) -> str:
    """A time in words, roughly.

    Example:
        >>> duration(40), duration(130), duration(7300)
        ('40 s', '2 min', '2.0 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show how far long work is, on stderr: a bar on a terminal, elsewhere a line for every tenth.

    Args:
        quiet: Show nothing.

    Yields:
        What is to be called with the name of the work, the number of parts done and that of all.
    """
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tenths: dict[str, int] = {}
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("")

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)
            tenth = 10 * done // max(1, total)
            if not quiet and not console.is_terminal and tenth > tenths.get(what, 0):
                tenths[what] = tenth
                console.print(f"{what}: {done} of {total}", soft_wrap=True)

        yield tell


@contextmanager
def loading(quiet: bool = False) -> Iterator[None]:
    """Show that models are being loaded.

    Args:
        quiet: Show nothing.
    """
    what = "loading the models"
    with progress(quiet=quiet) as tell:
        tell(what, 0, 1)
        yield
        tell(what, 1, 1)
