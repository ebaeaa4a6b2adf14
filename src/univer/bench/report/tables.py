"""The tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from univer.bench.report.forms import NOTHING, decimal, ends, signed_percent, tenths
from univer.bench.report.looks import Look
from univer.bench.report.names import title
from univer.bench.report.runs import Row
from univer.bench.report.samples import Figure
from univer.bench.report.view import View
from univer.bench.summary import ALL, PLAIN

PREFILL = "prefill"
POSITIONS = {"survival": "kept at all", "conditional": "kept given the one before"}


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: its text.
        value: the number that it is sorted by.
        small: small print after the text: an interval and a sample size.
    """

    text: str
    value: float | None = None
    small: str = ""


# A method, its look, and a cell for each further column.
Line = tuple[str, Look, Sequence[Cell]]


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        caption: what it shows.
        columns: headings.
        blocks: a heading, which may be empty, and lines.
    """

    caption: str
    columns: Sequence[str]
    blocks: Sequence[tuple[str, Sequence[Line]]]


Column = tuple[str, Callable[[Row], Cell]]


def method_table(view: View, temperature: float) -> Table:
    """All methods on all trees of a run at one temperature, with the columns that the run has figures for."""
    columns: list[Column] = [("nodes", lambda row: _number(row["nodes"] if row["tree"] else None, 1))]
    for heading, name, form in (
        ("τ", "tau", decimal),
        (f"gain over {title(view.run.reference)}", "gain", signed_percent),
        ("tokens/s", "rate", tenths),
        ("speed-up", "speedup", decimal),
    ):
        if any(row[name] for row in view.run.overall):
            columns += [(heading, _value(name, form)), ("95 % interval", _interval(name, form))]
    return _table(view, "All prompts", columns, temperature, plain=True)


def group_tables(view: View) -> list[Table]:
    """Acceptance length and speed-up by task group; none for a run with one group."""
    groups = view.run.groups
    cells = {
        (row["group"], row["draft"], row["tree"], row["method"]): row
        for row in view.run.rows
        if row["temperature"] == view.temperature
    }

    def column(group: str, name: str) -> Column:
        def cell(row: Row) -> Cell:
            of_group = cells.get((group, row["draft"], row["tree"], row["method"]))
            return _cell(of_group[name] if of_group else None)

        return group.replace("_", " "), cell

    names = {"Acceptance length": "tau", "Speed-up": "speedup"} if len(groups) > 1 else {}
    return [
        _table(view, f"{what} by task group", [column(group, name) for group in groups], view.temperature)
        for what, name in names.items()
        if any(row[name] for row in view.run.rows if row["group"] != ALL)
    ]


def phase_tables(view: View) -> list[Table]:
    """Milliseconds by phase; none where no time was measured."""
    names = phase_names(view.rows)

    def phase(name: str) -> Column:
        return name, lambda row: _number(1000 * row["phases"].get(name, 0.0) if row["phases"] else None)

    columns: list[Column] = [
        *map(phase, names),
        ("round", lambda row: _number(round_time(row) if row["phases"] else None)),
        ("prefill of a turn", phase(PREFILL)[1]),
        ("prompts", lambda row: _number(row["prompts"], 0)),
    ]
    return [_table(view, "Milliseconds by phase", columns, view.temperature, plain=True)] if names else []


def position_tables(view: View) -> list[Table]:
    """Probabilities of keeping a position; none where they were not measured."""
    deepest = max((len(row["survival"]) for row in view.rows), default=0)

    def column(place: int, field: str) -> Column:
        return str(place + 1), lambda row: _cell(row[field][place] if place < len(row[field]) else None)

    return [
        _table(view, what, [column(place, field) for place in range(deepest)], view.temperature)
        for field, what in POSITIONS.items()
        if deepest
    ]


def phase_names(rows: Sequence[Row]) -> list[str]:
    """The phases of a round in their order, without the prefill, which is not part of a round."""
    return [name for name in dict.fromkeys(name for row in rows for name in row["phases"] or ()) if name != PREFILL]


def round_time(row: Row) -> float:
    """Milliseconds of a round."""
    return 1000 * float(sum(row["phases"][name] for name in phase_names([row])))


def _table(view: View, caption: str, columns: Sequence[Column], temperature: float, plain: bool = False) -> Table:
    """A table with a block for every tree, and one for plain decoding before them."""

    def line(row: Row) -> Line:
        return title(row["method"]), view.look(row["method"]), [cell(row) for _, cell in columns]

    alone = [row for row in view.run.overall if row["method"] == PLAIN and row["temperature"] == temperature]
    blocks = [("", alone)] if plain and alone else []
    blocks += [(_heading(view, draft, tree, rows), rows) for draft, tree, rows in view.panels(temperature)]
    headings = ["method", *(heading for heading, _ in columns)]
    whole = view.title(caption, f"temperature {temperature:g}")
    return Table(whole, headings, [(heading, list(map(line, rows))) for heading, rows in blocks])


def _heading(view: View, draft: str, tree: str, rows: Sequence[Row]) -> str:
    """What rows have in common: the tree, the draft where there are several, and a reference on another tree."""
    parts = [f"tree {tree}"]
    if len(view.drafts) > 1:
        parts.append(f"draft {draft}")
    if elsewhere := {row["reference_tree"] for row in rows if row["gain"]} - {tree}:
        parts.append(f"gain over {title(view.run.reference)} on the tree {elsewhere.pop()}")
    return ", ".join(parts)


def _value(name: str, form: Callable[[float | None], str]) -> Callable[[Row], Cell]:
    return lambda row: Cell(form(row[name]["value"]), row[name]["value"]) if row[name] else Cell(NOTHING)


def _interval(name: str, form: Callable[[float | None], str]) -> Callable[[Row], Cell]:
    return lambda row: Cell("", row[name]["low"], _sample(row[name], form)) if row[name] else Cell("")


def _cell(figure: Figure | None) -> Cell:
    return Cell(decimal(figure["value"]), figure["value"], _sample(figure)) if figure else Cell(NOTHING)


def _sample(figure: Figure, form: Callable[[float | None], str] = decimal) -> str:
    return f"{ends(figure, form)} ({figure['prompts']})".strip()


def _number(value: float | None, digits: int = 2) -> Cell:
    return Cell(decimal(value, digits), value)
