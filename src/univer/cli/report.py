"""`univer report`: a page with the figures and plots of runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from univer.cli.options import AsJson

__all__ = ["report"]


def report(
    *,
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
        str | None, typer.Option(help="Method, or method:order, to highlight.", show_default="UniVer")
    ] = None,
    tree: Annotated[str | None, typer.Option(help="Tree to highlight.", show_default="the run's first")] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Temperature to highlight.", show_default="1, else the highest")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make an HTML page that opens offline, and PNG plots, from run folders, also of unfinished runs."""
    from univer.bench.report import Selection, check_output, load_runs, write_report
    from univer.cli.terminal import print_json, print_lines, progress

    check_output(output)
    try:
        with progress(quiet=as_json) as shown:
            made = write_report(load_runs(runs, shown), output, Selection(method, tree, temperature), shown)
    except KeyboardInterrupt:
        return 130
    if as_json:
        said = {"sentence": made.sentence, "about": made.about, "row": made.row}
        print_json({"page": str(made.page), "images": [str(image) for image in made.images]} | said)
        return 0
    plots = f"{len(made.images)} plot{'s' * (len(made.images) != 1)}"
    print_lines(*map(_plain, (made.sentence, f"({made.about})", f"{made.page} with {plots} beside it")))
    return 0


def _plain(text: str) -> str:
    """A text for a terminal that may not have all of its characters."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.replace("\u202f", " ").replace("\u2212", "-").encode(encoding, errors="replace").decode(encoding)
