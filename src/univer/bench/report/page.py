"""The page: everything that a report says, in one file that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any
from warnings import catch_warnings, filterwarnings

import matplotlib
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import univer
from univer.bench.report import palette
from univer.bench.report.facts import facts
from univer.bench.report.focus import Wish, check_wish, sentence
from univer.bench.report.names import title
from univer.bench.report.output import GENERATOR, check_images, check_output, remove_left_over
from univer.bench.report.plots import CHAPTERS, Plot
from univer.bench.report.plots.canvas import SETTINGS
from univer.bench.report.plots.svg import inline, lay_out, save_png
from univer.bench.report.runs import Row, Run
from univer.bench.report.tables import full_tables, group_table, main_table, phase_table
from univer.bench.report.view import View, views

TEMPLATES = "templates"


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        page: the HTML file.
        images: the PNG files beside it.
        sentence: what the page says first.
        about: what the sentence holds for, and how far the run came if it is not finished.
        row: the row of the summary that the sentence is about.
    """

    page: Path
    images: list[Path]
    sentence: str
    about: str
    row: Row


def write_report(
    runs: Sequence[Run],
    output: str | Path,
    wish: Wish | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Report:
    """Write a page about runs, and its plots as PNG files beside it.

    Args:
        runs: what `load_runs` gave.
        output: the HTML file; its name without the ending begins the names of the images.
        wish: the method, tree and temperature to put first.
        progress: called with the name of the work, the number of plots done and that of all.

    Raises:
        ValueError: no runs, a wish that no run fulfils, or a file that is not of an earlier report stands in the way;
            then nothing is written.
    """
    page, wish = Path(output), wish or Wish()
    check_output(page)
    if not runs:
        raise ValueError("a report needs at least one run")
    check_wish(runs, wish)
    shown = views(runs, wish)
    chapters, images = _chapters(shown, page, progress)
    chosen, reference = shown[0].chosen, shown[0].run.reference
    said = sentence(chosen, reference, shown[0].abridged)
    content = (
        _environment()
        .get_template("page.html")
        .render(
            generator=Markup(GENERATOR),
            sentence=said,
            about=_about(shown[0]),
            main_tables=[main_table(view) for view in shown],
            group_tables=[table for view in shown if (table := group_table(view))],
            chapters=chapters,
            full_tables=[table for view in shown for table in full_tables(view)],
            phase_tables=[table for view in shown if (table := phase_table(view))],
            runs=[(view.run.name, facts(view.run)) for view in shown],
            measured=_measured(shown),
            reference=title(reference),
            accent=shown[0].look(chosen["method"]).colour.name,
            version=univer.__version__,
        )
    )
    partial = page.with_name(page.name + ".partial")
    partial.write_text(content, encoding="utf-8")
    partial.replace(page)
    remove_left_over(page, [chapter.name for chapter in CHAPTERS], images)
    return Report(page, images, str(said), _about(shown[0]), chosen)


def _chapters(
    shown: Sequence[View], page: Path, progress: Callable[[str, int, int], None]
) -> tuple[list[dict[str, Any]], list[Path]]:
    """Draw all plots: what the page takes in, and the files written."""
    chapters, images = [], []
    with matplotlib.rc_context(SETTINGS), catch_warnings():
        # Names of methods and folders may hold signs that the font of the PNG files lacks; the page has others.
        filterwarnings("ignore", message="Glyph .* missing from font")
        drawn = [(chapter, _named(chapter.name, chapter.draw(shown))) for chapter in CHAPTERS]
        places = {name: page.with_name(f"{page.stem}-{name}.png") for _, plots in drawn for name in plots}
        check_images(places.values())
        page.parent.mkdir(parents=True, exist_ok=True)
        for chapter, plots in drawn:
            panels = []
            for name, plot in plots.items():
                lay_out(plot)
                panels.append((plot.title, Markup(inline(plot, name))))
                save_png(plot, shown[0].abridged(plot.title), places[name])
                images.append(places[name])
                progress("plots", len(images), len(places))
            if panels:
                chapters.append(
                    {"name": chapter.name, "heading": chapter.heading, "meaning": chapter.meaning} | {"panels": panels}
                )
    return chapters, images


def _named(chapter: str, plots: Sequence[Plot]) -> dict[str, Plot]:
    """The plots of a chapter by names of their own, which are unique in a report."""
    if len(plots) == 1:
        return {chapter: plots[0]}
    return {f"{chapter}-{number}": plot for number, plot in enumerate(plots, start=1)}


def _environment() -> Environment:
    """Templates with the style sheet and the script, which alone may stand in the page as they are."""
    environment = Environment(
        loader=PackageLoader("univer.bench.report", TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folder = files("univer.bench.report").joinpath(TEMPLATES)
    script = folder.joinpath("sort.js").read_text(encoding="utf-8")
    environment.globals |= {
        "style": Markup(folder.joinpath("page.css").read_text(encoding="utf-8")),
        "light": Markup(palette.variables(dark=False)),
        "dark": Markup(palette.variables(dark=True)),
        "script": Markup(script),
        # The page may run this script and no other, and load nothing.
        "script_hash": b64encode(sha256(script.encode()).digest()).decode(),
    }
    return environment


def _about(view: View) -> str:
    """What the sentence holds for, in a few words."""
    settings, chosen = view.run.manifest.get("settings") or {}, view.chosen
    target = settings.get("target")
    models = [name for name in (target, chosen["draft"]) if isinstance(name, str)]
    groups = len(view.run.groups)
    if view.run.audit:
        return "the audit of small models by exact enumeration" + ("" if view.alone else f", run “{view.run.name}”")
    parts = [
        " with ".join(models),
        f"temperature {chosen['temperature']:g}",
        f"{chosen['prompts']} prompt" + "s" * (chosen["prompts"] != 1) + (f" of {groups} kinds" if groups > 1 else ""),
        "generated text" if chosen["source"] == "live" else "exact outcome laws of drafted trees",
        "" if view.alone else f"run “{view.run.name}”",
        "" if view.run.finished else f"the run is not finished: {view.run.so_far}",
    ]
    return ", ".join(part for part in parts if part)


def _measured(shown: Sequence[View]) -> set[str]:
    """What there is to explain."""
    rows = [row for view in shown for row in view.run.overall]
    found = {row["source"] for row in rows}
    return found | {name for name in ("gain", "rate", "speedup") if any(row[name] is not None for row in rows)}
