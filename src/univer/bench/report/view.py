"""A run as a report shows it: which rows stand together, and how they are titled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from univer.bench.report.focus import Selection, main_row, ordered
from univer.bench.report.forms import plural
from univer.bench.report.looks import Look, look
from univer.bench.report.names import rank, short_names, title
from univer.bench.report.runs import Row, Run
from univer.bench.summary import PLAIN


@dataclass(frozen=True)
class View:
    """One run of a report.

    Attributes:
        run: the run.
        chosen: the row that is highlighted.
        alone: whether the report has no other run.
        short: short forms of the long names in the report, longest names first.
    """

    run: Run
    chosen: Row
    alone: bool
    short: Mapping[str, str]

    @property
    def temperature(self) -> float:
        """The temperature of the highlighted row."""
        return float(self.chosen["temperature"])

    @property
    def rows(self) -> list[Row]:
        """The rows over all groups at that temperature, plain decoding first."""
        return _sorted(row for row in self.run.overall if row["temperature"] == self.temperature)

    @property
    def drafts(self) -> list[str]:
        """The drafts, that of the highlighted row first."""
        return self._values("draft")

    @property
    def trees(self) -> list[str]:
        """The trees, that of the highlighted row first."""
        return self._values("tree")

    @property
    def other_temperatures(self) -> list[float]:
        """The other temperatures in ascending order."""
        return sorted({row["temperature"] for row in self.run.overall} - {self.temperature})

    def of(self, draft: str, tree: str | None = None, temperature: float | None = None) -> list[Row]:
        """The rows over all groups with a draft and, where given, a tree and a temperature."""
        return _sorted(
            row
            for row in self.run.overall
            if row["draft"] == draft
            and tree in (None, row["tree"])
            and temperature in (None, row["temperature"])
            and row["method"] != PLAIN
        )

    def panels(self, temperature: float) -> list[tuple[str, str, list[Row]]]:
        """Draft, tree and rows for every pair of draft and tree that has rows at a temperature."""
        panels = [(draft, tree, self.of(draft, tree, temperature)) for draft in self.drafts for tree in self.trees]
        return [panel for panel in panels if panel[2]]

    def title(self, *parts: str, draft: str | None = None, rows: Sequence[Row] = ()) -> str:
        """A title such as `2x5, temperature 1, 72 prompts`, with draft and run where there are several."""
        named = [*parts]
        if rows:
            counts = sorted({row["prompts"] for row in rows})
            noun = "case" if self.run.audit else "prompt"
            named.append(f"{counts[0]} to " * (len(counts) > 1) + plural(counts[-1], noun))
        if draft is not None and len(self.drafts) > 1:
            named.append(draft)
        if not self.alone:
            named.append(self.run.name)
        return ", ".join(named)

    def abridged(self, text: str) -> str:
        """A text with long names in their short forms, for plots and headings."""
        for name, short in self.short.items():
            text = text.replace(name, short)
        return text

    def look(self, label: str) -> Look:
        """The look of a method in this report."""
        return look(label, main=label == self.chosen["method"])

    def _values(self, field: str) -> list[str]:
        values = [row[field] for row in (self.chosen, *self.run.overall)]
        return list(dict.fromkeys(value for value in values if value is not None))


def views(runs: Sequence[Run], selection: Selection) -> list[View]:
    """The runs of a report, starting with the one that its sentence is about."""
    short = {name: form for name, form in short_names(_names(runs)).items() if name != form}
    return [View(run, main_row(run, selection), len(runs) == 1, short) for run in ordered(runs, selection)]


def _names(runs: Sequence[Run]) -> Iterable[str]:
    """All names in runs that may be long."""
    for run in runs:
        yield run.name
        for row in run.overall:
            yield title(row["method"])
            yield from (name for name in (row["draft"], row["tree"]) if name is not None)


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: rank(row["method"]))
