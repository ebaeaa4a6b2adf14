"""The row that a report is about, and the sentence that states its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from univer.bench.intervals import FEWEST
from univer.bench.report.forms import NARROW, decimal, ends, plural, signed_percent, tenths, thousandths
from univer.bench.report.names import title
from univer.bench.report.runs import Row, Run
from univer.bench.report.samples import Figure
from univer.bench.summary import PLAIN

# The method that the package is named after, with the sibling order that it recommends, then without.
PREFERRED = ("univer (gain)", "univer")
# The text before a figure, the figure, and the text after it, so that a page can highlight the figure.
Sentence = tuple[str, str, str]


@dataclass(frozen=True)
class Selection:
    """What a report should be about; None leaves the choice to `main_row`.

    Attributes:
        method: name of a row, or a method and a sibling order separated by a colon.
        tree: a tree.
        temperature: a temperature.
    """

    method: str | None = None
    tree: str | None = None
    temperature: float | None = None

    @property
    def fields(self) -> dict[str, str | float]:
        """The fields of a row that are selected, with their values."""
        name, _, order = (self.method or "").partition(":")
        label = f"{name} ({order})" if order else self.method
        selected = {"method": label, "tree": self.tree, "temperature": self.temperature}
        return {name: value for name, value in selected.items() if value is not None}


def main_row(run: Run, selection: Selection) -> Row:
    """The row of a run that a report is about.

    The choice does not depend on the results where that is possible: it is UniVer with the recommended order, or else
    without, on the first tree of the run at temperature 1, or else at the highest. Only a run without UniVer is
    represented by the method with the largest acceptance length.

    Args:
        run: the run.
        selection: what the reader asked for; values that the run does not have are ignored.
    """
    rows = [row for row in run.overall if row["method"] != PLAIN] or run.overall
    for name, value in selection.fields.items():
        rows = [row for row in rows if row[name] == value] or rows
    temperatures = {row["temperature"] for row in rows}
    temperature = 1.0 if 1.0 in temperatures else max(temperatures)
    rows = [row for row in rows if row["temperature"] == temperature]
    rows = [row for row in rows if row["tree"] == rows[0]["tree"] and row["draft"] == rows[0]["draft"]]
    preferred = (row for method in PREFERRED for row in rows if row["method"] == method)
    return next(preferred, None) or max(rows, key=lambda row: row["tau"]["value"] if row["tau"] else 0.0)


def check_selection(runs: Sequence[Run], selection: Selection) -> None:
    """Raise if no run has a selected method, tree or temperature.

    Args:
        runs: the runs of a report.
        selection: what the reader asked for.

    Raises:
        ValueError: with the values that exist.
    """
    rows = [row for run in runs for row in run.overall]
    for name, value in selection.fields.items():
        existing = dict.fromkeys(row[name] for row in rows if row[name] is not None)
        if value not in existing:
            raise ValueError(f"no run has the {name} {value!r}; there are {', '.join(map(str, existing))}")


def ordered(runs: Sequence[Run], selection: Selection) -> list[Run]:
    """The runs, starting with the one that the sentence is about.

    Runs with the selected method come first; among these, runs with a speed-up, then runs with a gain.

    Args:
        runs: at least one.
        selection: what the reader asked for.
    """

    def rank(run: Run) -> tuple[bool, bool, bool]:
        row = main_row(run, selection)
        selected = selection.fields.get("method", row["method"])
        return (row["method"] != selected, row["speedup"] is None, row["gain"] is None)

    return sorted(runs, key=rank)


def sentence(row: Row, reference: str, abridged: Callable[[str], str] = str) -> Sentence:
    """State the result of a row in one sentence.

    Args:
        row: the row.
        reference: the method that gains are relative to.
        abridged: shortens the long names in a text.
    """
    who = abridged(title(row["method"]))
    if row["method"] == PLAIN:
        if row["rate"] is None:
            return ("Plain decoding was run", "", "; nothing else was measured yet.")
        rate = f"{tenths(row['rate']['value'])} tokens per second"
        sure = _bracket(row["rate"], tenths)
        return ("Plain decoding generates ", rate, f"{sure}; nothing else was measured yet.")
    if row["source"] == "audit" and row.get("gap"):
        within = f"{thousandths(row['gap']['value'])} tokens a round"
        cases = row["gap"]["prompts"]
        return (f"{who} comes within ", within, f" of the best lossless rule, over {cases} enumerated cases.")
    start = f"{who} on the tree {abridged(row['tree'] or 'no tree')}"
    if (speedup := row["speedup"]) is not None:
        times = f"{decimal(speedup['value'])} times"
        return (f"{start} generates text ", times, f" as fast as plain decoding{_bracket(speedup)}.")
    if (gain := row["gain"]) is not None:
        more = "more" if gain["value"] >= 0 else "fewer"
        other = abridged(title(reference))
        if row["reference_tree"] != row["tree"]:
            other += f" on the tree {abridged(row['reference_tree'] or 'no tree')}"
        return (
            f"{start} gets ",
            f"{tenths(abs(100 * gain['value']))}{NARROW}% {more} tokens",
            f" out of a target pass than {other}{_bracket(gain, signed_percent)}.",
        )
    if (tau := row["tau"]) is not None:
        return (f"{start} gets ", f"{decimal(tau['value'])} tokens", f" out of a target pass{_bracket(tau)}.")
    return (f"{start} was run", "", ", but no round was completed, so there is no acceptance length yet.")


def _bracket(figure: Figure, form: Callable[[float], str] = decimal) -> str:
    """The interval and the sample size of a figure, or why it has no interval."""
    prompts = plural(figure["prompts"], "prompt")
    if figure["low"] is None:
        return f" ({prompts}; an interval needs at least {FEWEST})"
    return f" (95{NARROW}% interval {ends(figure, form)}, {prompts})"
