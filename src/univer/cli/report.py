"""`univer report`: a page and plots that show what runs measured."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, as the benchmarks write them.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option(help="The HTML file; PNG plots go beside it. An earlier report is replaced, nothing else is."),
    ] = Path("report.html"),
    method: Annotated[
        str | None,
        typer.Option(help="The method, or method:order, to put first. [default: UniVer]", show_default=False),
    ] = None,
    tree: Annotated[
        str | None, typer.Option(help="The tree to put first. [default: the run's first]", show_default=False)
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="The temperature to put first. [default: 1, else the highest]", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the files, the sentence and the row behind it as one object.")
    ] = False,
) -> int:
    """Make one HTML page, which needs no network, and PNG plots from run folders; also from a run under way."""
    try:
        from univer.bench.report import Wish, check_output, load_runs, write_report
        from univer.cli.terminal import progress
    except ModuleNotFoundError as error:
        raise ValueError(f"a report needs more packages: pip install 'univer[models,report]' ({error})") from error

    check_output(output)
    try:
        with progress(quiet=as_json) as tell:
            made = write_report(load_runs(runs, tell), output, Wish(method, tree, temperature), tell)
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
    """A text of the page for a terminal, which may lack its fine spaces, its minus signs and whatever names hold."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.replace("\u202f", " ").replace("\u2212", "-").encode(encoding, errors="replace").decode(encoding)
