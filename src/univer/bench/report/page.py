"""The page: the whole report in one file that loads nothing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from warnings import catch_warnings, filterwarnings

import matplotlib
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import univer
from univer.bench.intervals import FEWEST
from univer.bench.report import looks, tables
from univer.bench.report.chapters import CHAPTERS
from univer.bench.report.drawing import FEWEST_POINTS, SETTINGS, Plot
from univer.bench.report.facts import facts
from univer.bench.report.focus import Selection, check_selection, sentence
from univer.bench.report.forms import plural
from univer.bench.report.names import title
from univer.bench.report.output import GENERATOR, check_images, check_output, remove_old_plots
from univer.bench.report.pictures import inline, save_png
from univer.bench.report.runs import Row, Run
from univer.bench.report.view import View, views
from univer.bench.summary import CELL


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        page: the HTML file.
        images: the PNG files beside it.
        sentence: the result at the top of the page.
        about: models, settings and prompts of that result, and the progress of an unfinished run.
        row: the row that the sentence is about, with the sample size of every figure.
    """

    page: Path
    images: list[Path]
    sentence: str
    about: str
    row: Row


def write_report(
    runs: Sequence[Run],
    output: str | Path,
    selection: Selection | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Report:
    """Write a page about runs, and its plots as PNG files beside it.

    Args:
        runs: from `load_runs`.
        output: the HTML file; the names of the images begin with its name.
        selection: the method, tree and temperature to highlight.
        progress: called with the kind of work, the number of plots drawn so far and the number of all.

    Raises:
        ValueError: there are no runs, no run has what is selected, or a file that is not part of an earlier report
            would be replaced. Nothing is written then.
    """
    page, selection = Path(output), selection or Selection()
    check_output(page)
    if not runs:
        raise ValueError("a report needs at least one run")
    check_selection(runs, selection)
    shown = views(runs, selection)
    chapters, images = _draw(shown, page, progress)
    first, about = shown[0], _about(shown[0])
    said = sentence(first.chosen, first.run.reference, first.abridged)
    rows = [row for view in shown for row in view.run.overall]
    content = _template().render(
        sentence=said,
        about=about,
        views=shown,
        chapters=chapters,
        measured={name for name in ("gain", "rate", "speedup") if any(row[name] for row in rows)},
        replayed=any(row["source"] == "replay" for row in rows),
        reference=title(first.run.reference),
        accent=first.look(first.chosen["method"]).colour,
    )
    partial = page.with_name(page.name + ".partial")
    partial.write_text(content, encoding="utf-8")
    partial.replace(page)
    remove_old_plots(page, CHAPTERS, images)
    return Report(page, images, "".join(said), about, first.chosen)


def _draw(
    shown: Sequence[View], page: Path, progress: Callable[[str, int, int], None]
) -> tuple[dict[str, list[Plot]], list[Path]]:
    """Draw all plots: those of each chapter, and the files written."""
    with matplotlib.rc_context(SETTINGS), catch_warnings():
        # Names of methods and folders may contain characters that the font of the PNG files lacks.
        filterwarnings("ignore", message="Glyph .* missing from font")
        chapters = {name: plots for name, draw in CHAPTERS.items() if (plots := draw(shown))}
        drawn: dict[Path, Plot] = {}
        for name, plots in chapters.items():
            kept = [plot for plot in plots if plot.canvas is not None]
            endings = [f"-{number}" for number in range(1, 1 + len(kept))] if len(kept) > 1 else [""]
            images = (page.with_name(f"{page.stem}-{name}{ending}.png") for ending in endings)
            drawn |= dict(zip(images, kept, strict=False))
        check_images(drawn)
        page.parent.mkdir(parents=True, exist_ok=True)
        for done, (image, plot) in enumerate(drawn.items(), start=1):
            plot.svg = inline(plot, image.stem)
            save_png(plot, shown[0].abridged(plot.title), image)
            progress("plots", done, len(drawn))
    return chapters, list(drawn)


def _template() -> Any:
    environment = Environment(
        loader=PackageLoader("univer.bench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def source(name: str) -> str:
        assert environment.loader is not None
        return environment.loader.get_source(environment, name)[0]

    environment.globals |= {
        # Besides the plots, only these are inserted without escaping.
        "generator": Markup(GENERATOR),
        "style": Markup(source("page.css")),
        "script": Markup(source("sort.js")),
        # The page may run this script and no other, and load nothing.
        "script_hash": b64encode(sha256(source("sort.js").encode()).digest()).decode(),
        "version": univer.__version__,
        "fewest": FEWEST,
        "fewest_points": FEWEST_POINTS,
        "facts": facts,
        "looks": looks,
        "tables": tables,
    }
    return environment.get_template("page.html")


def _about(view: View) -> str:
    """What the sentence is true for, in a few words."""
    settings, chosen = view.run.manifest.get("settings") or {}, view.chosen
    models = [name for name in (settings.get("target"), chosen["draft"]) if isinstance(name, str)]
    groups = sum(all(row[name] == chosen[name] for name in CELL) for row in view.run.rows) - 1
    if view.run.audit:
        return "the audit of small models by exact enumeration" + ("" if view.alone else f", run “{view.run.name}”")
    parts = [
        " with ".join(models),
        f"temperature {chosen['temperature']:g}",
        plural(chosen["prompts"], "prompt") + (f" of {groups} task groups" if groups > 1 else ""),
        "generated text" if chosen["source"] == "live" else "exact outcome distributions of drafted trees",
        "" if view.alone else f"run “{view.run.name}”",
        "" if view.run.finished else f"the run is not finished: {view.run.progress}",
    ]
    return ", ".join(part for part in parts if part)
