"""The one place where commands are registered, and where their failures become one line and an exit status."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import univer
from univer.cli.audit import audit
from univer.cli.bench import bench
from univer.cli.compare import compare
from univer.cli.doctor import doctor
from univer.cli.generate import generate
from univer.cli.methods import methods
from univer.cli.replay import replay
from univer.cli.report import report
from univer.cli.reproduce import reproduce
from univer.cli.trace import trace
from univer.cli.train_eagle import train_eagle
from univer.cli.tune import tune
from univer.cli.tune_skip import tune_skip
from univer.models.errors import ModelError

__all__ = ["app", "run"]

# One file per command; a command imports what is heavy when it runs.
COMMANDS = (generate, compare, trace, replay, reproduce, report, doctor, train_eagle, tune, tune_skip, audit, methods)

app = typer.Typer(
    name="univer",
    help="Lossless tree verification for speculative decoding.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(bench, name="bench")


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context, show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if show_version:
        typer.echo(univer.__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command, see `univer.cli.main`."""
    try:
        status = app(args=None if arguments is None else list(arguments), prog_name="univer", standalone_mode=False)
    except typer.TyperException as error:
        return _refuse(error.format_message())
    except (ModelError, ValueError, OSError) as error:
        return _refuse(str(error))
    except typer.Abort:
        return 130
    return status if isinstance(status, int) else 0


def _refuse(message: str) -> int:
    print(f"univer: error: {' '.join(message.split())}", file=sys.stderr)
    return 2
