"""`univer replay`: all methods on the contexts of a trace, by their exact outcome laws and without the models."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from univer.bench.traces import TraceFolder

__all__ = ["replay"]

COLUMNS = (
    "tree",
    "method",
    "draft law",
    "nodes",
    "tau",
    "95% interval",
    "gain over rrsw",
    "95% interval",
    "error below",
)


def replay(
    trace: Annotated[Path, typer.Argument(help="Folder of 'univer trace'.")],
    method: Annotated[
        list[str] | None,
        typer.Option(help="A method, or method:order; may be given several times. [default: those of the trace]"),
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Sibling order of the methods that name none and have a choice.")
    ] = None,
    tree: Annotated[
        list[str] | None, typer.Option(help="A tree of the trace; may be given several times. [default: all]")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder of the run, for records and summary; one that was begun is gone on with."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object with all records instead of the table.")
    ] = False,
) -> int:
    """Evaluate methods on the contexts of a trace."""
    try:
        from univer.bench.folder import RunFolder
        from univer.bench.summary import summarise
        from univer.bench.traces import TraceFolder, chosen_rows
        from univer.bench.traces import replay as run
        from univer.cli.terminal import progress
    except ModuleNotFoundError as error:
        raise ValueError(f"replaying needs more packages: pip install 'univer[models]' ({error})") from error

    folder = TraceFolder(trace)
    rows = chosen_rows(folder.settings, tree, _ordered(method, order))
    finished = len(folder.finished)
    if not finished:
        raise ValueError(f"{trace} has no prompt yet: repeat the command that records it")
    into = RunFolder.open(output, "replay", folder.settings) if output else None
    records: list[dict[str, Any]] = []
    interrupted = False
    with progress(quiet=as_json) as tell:
        try:
            for record in run(folder, rows, into, lambda done: tell("prompts", done, finished)):
                records.append(record)  # noqa: PERF402  an interruption keeps what came before
        except KeyboardInterrupt:
            interrupted = True
    summary = summarise(records)
    if into is not None:
        whole = summarise(into.records)
        into.finish(whole)
        # The reference may have been recorded before.
        asked = {(entry_tree, entry.name) for entry_tree, entry in rows}
        summary["rows"] = [row for row in whole["rows"] if (row["tree"], row["method"]) in asked]
    if as_json:
        of = {"prompts": finished, "prompts_of_the_trace": len(folder.prompts)}
        found = {"settings": folder.settings, **of, **summary, "records": records, "interrupted": interrupted}
        typer.echo(json.dumps(found, indent=1))
    else:
        laws = {(entry_tree, entry.name): entry.law for entry_tree, entry in rows}
        _print(folder, summary["rows"], records, laws, interrupted)
    return 130 if interrupted else 0


def _ordered(methods: list[str] | None, order: str | None) -> list[str] | None:
    """The methods with the order, where they name none and it matters to them."""
    from univer.methods import resolve

    if order is None:
        return methods
    if not methods:
        raise ValueError("--order goes with --method: name the methods to test their siblings in this order")
    return [name if ":" in name or not resolve(name).coupling.uses_order else f"{name}:{order}" for name in methods]


def _print(
    folder: "TraceFolder",
    rows: list[dict[str, Any]],
    records: list[dict[str, Any]],
    laws: dict[tuple[str, str], str],
    interrupted: bool,
) -> None:
    from univer.bench.intervals import intervals_note
    from univer.cli.terminal import print_table, standard_output
    from univer.engine.contexts import contexts_each

    console = standard_output()
    if not rows:
        console.print("interrupted before the first prompt was finished: nothing to show")
        return
    overall = [row for row in rows if row["group"] == "all"]
    cells = [
        [
            row["tree"],
            row["method"],
            laws[row["tree"], row["method"]],
            f"{row['nodes']:.1f}",
            f"{row['tau']['value']:.3f}",
            _ends(row["tau"], ".3f"),
            f"{row['gain']['value']:+.1%}" if row["gain"] else "",
            _ends(row["gain"], "+.1%") if row["gain"] else "",
            f"{row['error']:.1e}" if row["error"] else "exact",
        ]
        for row in overall
    ]
    print_table(COLUMNS, cells)
    settings = folder.settings
    recorded = len(folder.prompts)
    trees = f"{settings['drafted']} drafted tree" + "s" * (settings["drafted"] != 1)
    each = contexts_each((record["taus"] for record in records), settings["drafted"])
    console.print(
        f"{settings['target']} with {settings['draft']}, {settings['dtype']} on {settings['device']}, "
        f"temperature {settings['sampling']['temperature']}, {max(row['prompts'] for row in overall)} of {recorded} "
        f"prompts, {each}, {trees} per context and law, seed "
        f"{settings['seed']}, "
        + (f"rows lack at most {settings['tail']:g} of their mass; " if settings["tail"] else "whole rows; ")
        + intervals_note(max(row["prompts"] for row in overall))
        + (" (interrupted: the prompts finished so far)" if interrupted else ""),
        soft_wrap=True,
    )


def _ends(interval: dict[str, Any], form: str) -> str:
    if interval["low"] is None or interval["high"] is None:
        return "-"
    return f"{interval['low']:{form}} to {interval['high']:{form}}"
