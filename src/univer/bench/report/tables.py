"""The tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from univer.bench.report.forms import NOTHING, decimal, ends, signed_percent
from univer.bench.report.names import title, tree_title
from univer.bench.report.plots.speed import phase_names
from univer.bench.report.runs import Row
from univer.bench.report.series import Series
from univer.bench.report.view import View
from univer.bench.summary import ALL, PLAIN


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: what it says.
        value: what it is sorted by.
        more: something smaller behind it.
        quiet: whether it stands back, as the ends of an interval do.
        name: whether it is a name, which may be long.
    """

    text: str
    value: float | None = None
    more: str = ""
    quiet: bool = False
    name: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a table.

    Attributes:
        name: its method.
        look: of the method; None where it has none of its own.
        cells: as many as there are columns after the first.
    """

    name: str
    look: Series | None
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        caption: what it shows.
        columns: headings.
        bodies: lines under a heading each; a heading may be empty.
    """

    caption: str
    columns: Sequence[str]
    bodies: Sequence[tuple[str, Sequence[Line]]]


def main_table(view: View) -> Table:
    """All methods on all trees of a run at the temperature in front."""
    columns = _columns(view)
    temperature = view.chosen["temperature"]
    return Table(
        view.title(f"All prompts, temperature {temperature:g}"),
        ["method", *(heading for heading, _ in columns)],
        [*_plain_body(view, columns), *_bodies(view, temperature, columns)],
    )


def full_tables(view: View) -> list[Table]:
    """The main table at the other temperatures of a run."""
    columns = _columns(view)
    return [
        Table(
            view.title(f"All prompts, temperature {temperature:g}"),
            ["method", *(heading for heading, _ in columns)],
            _bodies(view, temperature, columns),
        )
        for temperature in view.temperatures
        if temperature != view.chosen["temperature"]
    ]


def group_table(view: View) -> Table | None:
    """Acceptance length, and speed-up where it was measured, by task group; None for a run of one group."""
    groups = view.run.groups
    if len(groups) < 2:
        return None
    by_cell = {
        (row["group"], row["draft"], row["tree"], row["method"]): row
        for row in view.run.rows
        if row["temperature"] == view.chosen["temperature"]
    }
    bodies = []
    for heading, rows in _by_tree(view, view.chosen["temperature"]):
        lines = []
        for row in rows:
            own = [by_cell.get((group, row["draft"], row["tree"], row["method"])) for group in (*groups, ALL)]
            lines.append(Line(title(row["method"]), view.look(row["method"]), [_of_group(entry) for entry in own]))
        bodies.append((heading, lines))
    what = "Acceptance length and speed-up" if any(row["speedup"] for row in view.rows) else "Acceptance length"
    return Table(
        view.title(f"{what} by task group, temperature {view.chosen['temperature']:g}"),
        ["method", *(group.replace("_", " ") for group in groups), "all"],
        bodies,
    )


def phase_table(view: View) -> Table | None:
    """Milliseconds by phase; None where no time was taken."""
    rows = [row for row in view.rows if row["phases"]]
    if not rows:
        return None
    names = phase_names(rows)
    lines = []
    for row in rows:
        parts = [1000 * row["phases"].get(name, 0.0) for name in names]
        prefill = 1000 * row["phases"].get("prefill", 0.0)
        tree = tree_title(row["tree"]) if row["tree"] else NOTHING
        figures = [Cell(decimal(part, 2), part) for part in (*parts, sum(parts), prefill)]
        lines.append(Line(title(row["method"]), view.look(row["method"]), [Cell(tree, name=True), *figures]))
    return Table(
        view.title(f"Milliseconds a round by phase, temperature {view.chosen['temperature']:g}"),
        ["method", "tree", *names, "round", "prefill a turn"],
        [("", lines)],
    )


Column = tuple[str, Callable[[Row], Cell]]


def _columns(view: View) -> list[Column]:
    """The columns that the run has figures for."""
    rows = view.run.overall
    columns: list[Column] = [("nodes", lambda row: _number(row["nodes"] if row["tree"] else None, 1))]
    if any(row["tau"] for row in rows):
        columns += _with_interval("τ", "tau", decimal)
    if any(row["gain"] for row in rows):
        columns += _with_interval(f"gain over {title(view.run.reference)}", "gain", signed_percent)
    if any(row["rate"] is not None for row in rows):
        columns.append(("tokens/s", lambda row: _number(row["rate"], 1)))
    if any(row["speedup"] for row in rows):
        columns += _with_interval("speed-up", "speedup", decimal)
    if len({row["prompts"] for row in rows}) > 1:
        columns.append(("prompts", lambda row: _number(row["prompts"], 0)))
    return columns


def _with_interval(heading: str, field: str, form: Callable[[float | None], str]) -> list[Column]:
    def value(row: Row) -> Cell:
        own = row[field]
        return Cell(form(own["value"]), own["value"]) if own else Cell(NOTHING)

    def interval(row: Row) -> Cell:
        own = row[field]
        return Cell(ends(own, form), own["low"] if own else None, quiet=True)

    return [(heading, value), ("95 % interval", interval)]


def _plain_body(view: View, columns: Sequence[Column]) -> list[tuple[str, list[Line]]]:
    rows = [row for row in view.rows if row["method"] == PLAIN]
    return [("", [_line(view, row, columns) for row in rows])] if rows else []


def _bodies(view: View, temperature: float, columns: Sequence[Column]) -> list[tuple[str, list[Line]]]:
    return [(heading, [_line(view, row, columns) for row in rows]) for heading, rows in _by_tree(view, temperature)]


def _by_tree(view: View, temperature: float) -> list[tuple[str, list[Row]]]:
    found = [
        (draft, tree, rows)
        for draft in view.drafts
        for tree in view.trees
        if (rows := view.of(draft, tree, temperature))
    ]
    return [(_heading(view, draft, tree, rows), rows) for draft, tree, rows in found]


def _heading(view: View, draft: str, tree: str, rows: Sequence[Row]) -> str:
    """What the rows share: the tree, the draft where there are several, and a reference on another tree."""
    parts = [f"tree {tree_title(tree)}"]
    if len(view.drafts) > 1:
        parts.append(f"draft {draft}")
    if elsewhere := {row["reference_tree"] for row in rows if row["gain"]} - {tree}:
        parts.append(f"gain over {title(view.run.reference)} on the tree {tree_title(elsewhere.pop())}")
    return ", ".join(parts)


def _line(view: View, row: Row, columns: Sequence[Column]) -> Line:
    look = None if row["method"] == PLAIN else view.look(row["method"])
    return Line(title(row["method"]), look, [make(row) for _, make in columns])


def _of_group(row: Row | None) -> Cell:
    if row is None or not row["tau"]:
        return Cell(NOTHING)
    speedup = row["speedup"]
    return Cell(decimal(row["tau"]["value"]), row["tau"]["value"], f"{decimal(speedup['value'])}×" if speedup else "")


def _number(value: float | None, digits: int) -> Cell:
    return Cell(decimal(value, digits), value)
