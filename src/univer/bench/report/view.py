"""A run as a report shows it: what is in front, which rows lie beside each other, what a panel is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from univer.bench.report.focus import Wish, focus, in_front
from univer.bench.report.names import rank, title, told_apart, tree_title
from univer.bench.report.runs import Row, Run
from univer.bench.report.series import Series, series
from univer.bench.summary import PLAIN


@dataclass(frozen=True)
class View:
    """One run of a report.

    Attributes:
        run: the run.
        chosen: its row in front.
        alone: whether the report is about this run only.
        short: what the names of the report are called where there is little room, longest names first.
    """

    run: Run
    chosen: Row
    alone: bool
    short: Mapping[str, str]

    @property
    def rows(self) -> list[Row]:
        """The rows over all groups at the temperature in front, in the order of their methods."""
        return _sorted(row for row in self.run.overall if row["temperature"] == self.chosen["temperature"])

    @property
    def drafts(self) -> list[str]:
        """The drafts, the one in front first."""
        others = [row["draft"] for row in self.run.overall if row["draft"] is not None]
        return list(dict.fromkeys([self.chosen["draft"], *others] if self.chosen["draft"] else others))

    @property
    def trees(self) -> list[str]:
        """The trees, the one in front first."""
        others = [row["tree"] for row in self.run.overall if row["tree"] is not None]
        return list(dict.fromkeys([self.chosen["tree"], *others] if self.chosen["tree"] else others))

    @property
    def temperatures(self) -> list[float]:
        """The temperatures, rising."""
        return sorted({row["temperature"] for row in self.run.overall})

    def of(self, draft: str, tree: str | None = None, temperature: float | None = None) -> list[Row]:
        """Rows over all groups with a draft and, where they are given, a tree and a temperature."""
        return _sorted(
            row
            for row in self.run.overall
            if row["draft"] == draft
            and tree in (None, row["tree"])
            and temperature in (None, row["temperature"])
            and row["method"] != PLAIN
        )

    def panels(self) -> list[tuple[str, list[Row]]]:
        """The rows at the temperature in front by draft and tree, each with the title of a panel."""
        temperature = self.chosen["temperature"]
        found = [
            (
                self.title(tree_title(tree), f"temperature {temperature:g}", draft=draft),
                self.of(draft, tree, temperature),
            )
            for draft in self.drafts
            for tree in self.trees
        ]
        return [(name, rows) for name, rows in found if rows]

    def title(self, *parts: str, draft: str | None = None) -> str:
        """What tells a panel or table from others: its own parts, and draft and run where there are several."""
        named = [*parts]
        if draft is not None and len(self.drafts) > 1:
            named.append(draft)
        if not self.alone:
            named.append(self.run.name)
        return ", ".join(named)

    def abridged(self, text: str) -> str:
        """A text with its long names in short, for plots: a page has room for them, a plot has not."""
        for name, short in self.short.items():
            text = text.replace(name, short)
        return text

    def look(self, label: str) -> Series:
        """How a method looks here."""
        return series(label, main=label == self.chosen["method"])


def views(runs: Sequence[Run], wish: Wish) -> list[View]:
    """The runs of a report, the one that its sentence is about first."""
    short = {name: own for name, own in told_apart(_names(runs)).items() if name != own}
    return [View(run, focus(run, wish), len(runs) == 1, short) for run in in_front(runs, wish)]


def _names(runs: Sequence[Run]) -> Iterable[str]:
    """Everything in runs that may have a long name."""
    for run in runs:
        yield run.name
        for row in run.overall:
            yield title(row["method"])
            yield from (name for name in (row["draft"], row["tree"]) if name is not None)


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: rank(row["method"]))
