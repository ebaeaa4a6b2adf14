"""`univer report`: a page with the figures and plots of runs."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders, as `univer bench`, `replay` and `reproduce` write them.", show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option(
            help="The HTML file; its plots are written beside it as PNG files. Only an earlier report is replaced."
        ),
    ] = Path("report.html"),
    method: Annotated[
        str | None,
        typer.Option(help="The method, or method:order, to highlight. [default: UniVer]", show_default=False),
    ] = None,
    tree: Annotated[
        str | None, typer.Option(help="The tree to highlight. [default: the run's first]", show_default=False)
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="The temperature to highlight. [default: 1, else the highest]", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the files, the sentence and its row as one JSON object.")
    ] = False,
) -> int:
    """Make an HTML page that opens offline, and PNG plots, from run folders, also of unfinished runs."""
    try:
        from univer.bench.report import Selection, check_output, load_runs, write_report
        from univer.cli.terminal import progress
    except ModuleNotFoundError as error:
        raise ValueError(f"a report needs more packages: pip install 'univer[models,report]' ({error})") from error

    check_output(output)
    try:
        with progress(quiet=as_json) as shown:
            made = write_report(load_runs(runs, shown), output, Selection(method, tree, temperature), shown)
    except KeyboardInterrupt:
        return 130
    if as_json:
        said = {"sentence": made.sentence, "about": made.about, "row": made.row}
        typer.echo(json.dumps({"page": str(made.page), "images": [str(image) for image in made.images]} | said))
        return 0
    typer.echo(_plain(made.sentence))
    typer.echo(_plain(f"({made.about})"))
    typer.echo(_plain(f"{made.page} with {len(made.images)} plot{'s' * (len(made.images) != 1)} beside it"))
    return 0


def _plain(text: str) -> str:
    """A text for a terminal that may not have all of its characters."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.replace("\u202f", " ").replace("\u2212", "-").encode(encoding, errors="replace").decode(encoding)
