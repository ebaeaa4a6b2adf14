"""The command line: parses, calls, prints."""

import sys
from collections.abc import Sequence

__all__ = ["INTERRUPTED", "caused_by_interrupt", "main"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Words after the program's name; by default those of this process.

    Returns:
        Exit status: 0, 1 if a check found something wrong, 2 for bad input (stderr says what is wrong and what to do),
        130 after Ctrl-C at any moment.
    """
    try:
        status = _run(arguments)
    except BaseException as error:
        # Libraries that are interrupted while they are imported may raise something of their own instead.
        if not caused_by_interrupt(error):
            raise
        status = INTERRUPTED
    if status == INTERRUPTED:
        # An interruption inside code that is run from a string, as dataclasses run theirs, leaves a mark in the
        # interpreter, which would then end by the signal in place of the status. Running another such code clears it.
        exec("")
        print("univer: interrupted", file=sys.stderr)
    return status


def _run(arguments: Sequence[str] | None) -> int:
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        if caused_by_interrupt(error):
            raise
        print(
            f"univer: error: the command line needs more packages: pip install 'univer[all]' ({error})", file=sys.stderr
        )
        return 2
    from univer.cli.app import run

    return run(arguments)


def caused_by_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
