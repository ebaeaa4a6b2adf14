"""The one place where commands are registered, and where their failures become a message and an exit status."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

import univer
from univer.cli import INTERRUPTED, caused_by_interrupt
from univer.cli.audit import audit
from univer.cli.bench import bench
from univer.cli.compare import compare
from univer.cli.doctor import doctor
from univer.cli.generate import generate
from univer.cli.methods import methods
from univer.cli.options import expanded
from univer.cli.replay import replay
from univer.cli.report import report
from univer.cli.reproduce import reproduce
from univer.cli.trace import trace
from univer.cli.train_eagle import train_eagle
from univer.cli.tune import tune
from univer.cli.tune_skip import tune_skip
from univer.models.errors import ModelError

__all__ = ["app", "run"]

# The commands by heading of the help page, each with examples. One file per command, which imports what is heavy when
# it runs.
COMMANDS: dict[str, dict[Callable[..., Any], tuple[str, ...]]] = {
    "Generate": {
        generate: (
            'univer generate "Why is the sky blue?"',
            'univer generate "Why is the sky blue?" --method traversal --tree 3x3 --temperature 1 --seed 1',
            'univer generate "Name a colour." --turn "And another one." --system "Answer in one word."',
            "univer generate --prompts questions.txt --quiet",
        ),
        doctor: ("univer doctor --target smollm2-135m --draft skip=16-18",),
        tune: ("univer tune --draft skip=16-18", 'univer generate "Why is the sky blue?" --tuned tuned.json'),
        tune_skip: ("univer tune-skip --most 4",),
        train_eagle: ("univer train-eagle --target smollm2-135m --output my-head",),
    },
    "Measure": {
        compare: ("univer compare --count 6", "univer compare --method rrsw --method univer --tree 2x5"),
        trace: ("univer trace my-trace --count 6",),
        replay: ("univer replay my-trace",),
        reproduce: ("univer reproduce main-table --output my-run",),
        report: ("univer report my-run",),
    },
    "Methods": {
        methods: ("univer methods",),
        audit: ("univer audit univer greedy --quick",),
    },
}

app = typer.Typer(
    name="univer",
    help="Lossless tree verification for speculative decoding: faster text, with exactly the target's distribution.",
    epilog='Start with: univer generate "Why is the sky blue?"',
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
for heading, commands in COMMANDS.items():
    for command, examples in commands.items():
        epilog = "\n\n".join(("Examples:", *(f"  {example}" for example in examples)))
        app.command(rich_help_panel=heading, epilog=epilog)(expanded(command))
app.add_typer(bench, name="bench", rich_help_panel="Measure")


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
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        message = _message(error)
        if message is None or caused_by_interrupt(error):
            raise
        print(f"univer: error: {' '.join(message.split())}", file=sys.stderr)
        return 2
    return status if isinstance(status, int) else 0


def _message(error: Exception) -> str | None:
    """What to tell the user of a failure; None for a fault of the program."""
    if isinstance(error, typer.TyperException):
        return error.format_message()
    if isinstance(error, ModuleNotFoundError) and (error.name or "univer").partition(".")[0] != "univer":
        return f"this command needs more packages: pip install 'univer[all]' ({error})"
    return str(error) if isinstance(error, ModelError | ValueError | OSError) else None
