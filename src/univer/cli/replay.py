"""`univer replay`: all methods on the contexts of a trace, from exact outcome distributions and without the models."""

from pathlib import Path
from typing import Annotated

import typer

from univer.cli.options import AsJson, RunOutput, methods_option

__all__ = ["replay"]

KIND = "replay"


def replay(
    *,
    trace: Annotated[Path, typer.Argument(help="Folder of 'univer trace'.")],
    method: Annotated[list[str] | None, methods_option("those of the trace")] = None,
    order: Annotated[
        str | None, typer.Option(help="Sibling order of the methods that name none and have a choice.")
    ] = None,
    tree: Annotated[
        list[str] | None, typer.Option(help="A tree of the trace. Repeat for several.", show_default="all")
    ] = None,
    output: RunOutput = None,
    as_json: AsJson = False,
) -> int:
    """Evaluate methods on the drafted trees of a trace, without the models."""
    from univer.bench import chosen_rows, summarise
    from univer.bench.paper import beside_paper
    from univer.bench.traces import TraceFolder
    from univer.bench.traces import replay as run
    from univer.cli.measured import collect, print_object, run_folder
    from univer.cli.run_tables import print_cells, print_settings
    from univer.cli.terminal import progress

    source = TraceFolder(trace)
    rows = chosen_rows(source.settings, tree, _ordered(method, order))
    finished = len(source.finished)
    if not finished:
        raise ValueError(f"{trace} has no prompt yet: repeat the command that records it")
    with run_folder(output, KIND, source.settings) as folder:
        with progress(quiet=as_json) as report:
            new = run(source, rows, folder.done, lambda done: report("prompts", done, finished))
            interrupted = collect(folder, new)
        summary = summarise(folder.records)
        summary["paper"] = beside_paper(summary)
        folder.finish(summary)
        if as_json:
            print_object(folder, folder.records, summary, interrupted)
        else:
            print_cells(summary, rows)
            print_settings(folder, summary, interrupted)
    return 130 if interrupted else 0


def _ordered(methods: list[str] | None, order: str | None) -> list[str] | None:
    """The methods with the order, where they name none and have a choice."""
    from univer.methods import resolve

    if order is None:
        return methods
    if not methods:
        raise ValueError("--order goes with --method: name the methods to test their siblings in this order")
    return [name if ":" in name or not resolve(name).coupling.uses_order else f"{name}:{order}" for name in methods]
