"""The command line: parses, calls, prints."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Words after the program's name; by default those of this process.

    Returns:
        Exit status: 0, 2 for bad input (one line on stderr says what is wrong), 130 after Ctrl-C.
    """
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(
            f"univer: error: the command line needs more packages: pip install 'univer[cli]' ({error})", file=sys.stderr
        )
        return 2
    from univer.cli.app import run

    return run(arguments)
