"""What goes to a terminal and what goes to a file or a pipe: tables, JSON, progress."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

__all__ = [
    "check_new_file",
    "duration",
    "loading",
    "number",
    "print_json",
    "print_lines",
    "print_table",
    "progress",
    "standard_output",
]


def standard_output() -> Console:
    """A console on stdout that writes colours to terminals only and leaves text as it is."""
    return Console(highlight=False, markup=False, emoji=False)


def print_lines(*lines: str) -> None:
    """Print lines of text, however long, without breaking them."""
    console = standard_output()
    for line in lines:
        console.print(line, soft_wrap=True)


def print_json(found: Any) -> None:
    """Print an object as JSON."""
    print(json.dumps(found, indent=1))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print rows under their headings; in a pipe one line each, however long.

    Args:
        columns: The headings.
        rows: As many cells each as there are headings.
        title: A line above the table.
    """
    console = standard_output()
    if title:
        print_lines(title)
    if console.is_terminal:
        table = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        console.out("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def number(value: float | None, form: str = ".2f") -> str:
    """A figure for a table: a dash where there is none.

    Args:
        value: The figure.
        form: Its format, as `format` takes it.

    Example:
        >>> number(0.5), number(None), number(-0.00001)
        ('0.50', '-', '0.00')
    """
    if value is None:
        return "-"
    # A value that rounds to zero is shown without a sign.
    return format(abs(value) if float(format(value, form).rstrip("%")) == 0 else value, form)


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
        A function to call with the name of the work, the number of parts done and the number of all parts.
    """
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tenths: dict[str, int] = {}
    started: dict[str, tuple[float, int]] = {}
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("")

        def report(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)
            since, first = started.setdefault(what, (time.monotonic(), done))
            tenth = 10 * done // max(1, total)
            if not quiet and not console.is_terminal and tenth > tenths.get(what, 0):
                tenths[what] = tenth
                left = (time.monotonic() - since) / (done - first) * (total - done) if done > first else 0.0
                rest = f", about {duration(left)} left" if left >= 1 else ""
                console.print(f"{what}: {done} of {total}{rest}", soft_wrap=True)

        yield report


@contextmanager
def loading(quiet: bool = False) -> Iterator[None]:
    """Show that models are being loaded.

    Args:
        quiet: Show nothing.
    """
    what = "loading the models"
    with progress(quiet=quiet) as report:
        report(what, 0, 1)
        yield
        report(what, 1, 1)


def check_new_file(path: Path) -> None:
    """Raise unless results can be written to a new file; its folder is made.

    Args:
        path: The file.

    Raises:
        ValueError: The file exists, or cannot be written.
    """
    another = "name another file with --output"
    try:
        exists = path.exists()
        if not exists:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(exist_ok=False)
            path.unlink()
    except OSError as error:
        raise ValueError(f"{path} cannot be written ({error.strerror}): {another}") from error
    if exists:
        raise ValueError(f"{path} exists already; results are not overwritten: {another}")
