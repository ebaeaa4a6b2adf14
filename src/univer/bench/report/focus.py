"""What a report puts first: one row of one run, and the sentence that says what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from univer.bench.intervals import FEWEST
from univer.bench.report.forms import NARROW, decimal, ends, signed_percent
from univer.bench.report.names import title, tree_title
from univer.bench.report.runs import Row, Run
from univer.bench.summary import PLAIN

# The method that the package is named after, with the sibling order that it recommends, then without.
PREFERRED = ("univer (gain)", "univer")


@dataclass(frozen=True)
class Wish:
    """What the reader wants to see first; None leaves the choice to `focus`.

    Attributes:
        method: a row's name, or a method and an order with a colon between them.
        tree: a tree.
        temperature: a temperature.
    """

    method: str | None = None
    tree: str | None = None
    temperature: float | None = None

    @property
    def label(self) -> str | None:
        """The method as rows name it."""
        if self.method is None:
            return None
        name, _, order = self.method.partition(":")
        return f"{name} ({order})" if order else self.method


@dataclass(frozen=True)
class Sentence:
    """A sentence in three parts, so that its figure can be set apart.

    Attributes:
        before: up to the figure.
        figure: the figure.
        after: the rest.
    """

    before: str
    figure: str
    after: str

    def __str__(self) -> str:
        return self.before + self.figure + self.after


def focus(run: Run, wish: Wish) -> Row:
    """The row of a run to put first.

    The choice does not look at the figures, as far as it can: UniVer with the recommended order, else without, on the
    first tree of the run at temperature 1, else at the highest. Only where there is no UniVer it is the method with the
    largest acceptance length.

    Args:
        run: the run.
        wish: what the reader asked for; what the run lacks is passed over.
    """
    rows = [row for row in run.overall if row["method"] != PLAIN] or run.overall
    label = wish.label
    for name, wanted in (("method", label), ("tree", wish.tree), ("temperature", wish.temperature)):
        rows = [row for row in rows if wanted is not None and row[name] == wanted] or rows
    temperatures = {row["temperature"] for row in rows}
    temperature = 1.0 if 1.0 in temperatures else max(temperatures)
    rows = [row for row in rows if row["temperature"] == temperature]
    rows = [row for row in rows if row["tree"] == rows[0]["tree"] and row["draft"] == rows[0]["draft"]]
    for preferred in PREFERRED:
        for row in rows:
            if row["method"] == preferred:
                return row
    return max(rows, key=lambda row: row["tau"]["value"] if row["tau"] else 0.0)


def check_wish(runs: Sequence[Run], wish: Wish) -> None:
    """Refuse what no run has.

    Raises:
        ValueError: with what there is.
    """
    rows = [row for run in runs for row in run.overall]
    for name, wanted in (("method", wish.label), ("tree", wish.tree), ("temperature", wish.temperature)):
        there = dict.fromkeys(row[name] for row in rows if row[name] is not None)
        if wanted is not None and wanted not in there:
            raise ValueError(f"no run has the {name} {wanted!r}; there are {', '.join(map(str, there))}")


def in_front(runs: Sequence[Run], wish: Wish) -> list[Run]:
    """The runs, the one that the sentence is about first: measured against plain decoding, else against a reference.

    Args:
        runs: at least one.
        wish: what the reader asked for.
    """

    def worth(run: Run) -> tuple[bool, bool, bool]:
        row = focus(run, wish)
        wanted = wish.label is None or row["method"] == wish.label
        return (not wanted, row["speedup"] is None, row["gain"] is None)

    first = min(runs, key=worth)
    return [first, *(run for run in runs if run is not first)]


def sentence(row: Row, reference: str, abridged: Callable[[str], str] = str) -> Sentence:
    """What was found, in one sentence.

    Args:
        row: the row that it is about.
        reference: the method that gains are relative to.
        abridged: from a name to what it is called in a heading.
    """
    who = abridged(title(row["method"]))
    if row["method"] == PLAIN:
        rate = "an unknown number of" if row["rate"] is None else decimal(row["rate"], 1)
        return Sentence("Plain decoding generates ", f"{rate} tokens per second", "; nothing else was measured yet.")
    count = row["prompts"]
    if row["source"] == "audit" and row.get("gap"):
        within = f"{decimal(row['gap']['value'], 3)} tokens a round"
        return Sentence(f"{who} comes within ", within, f" of the best lossless rule, over {count} enumerated cases.")
    start = f"{who} on the tree {abridged(tree_title(row['tree']))}"
    if (speedup := row["speedup"]) is not None:
        return Sentence(
            f"{start} generates text ",
            f"{decimal(speedup['value'])} times",
            f" as fast as plain decoding{_bracket(ends(speedup), count)}.",
        )
    if (gain := row["gain"]) is not None:
        more = "more" if gain["value"] >= 0 else "fewer"
        other = abridged(title(reference))
        if row["reference_tree"] != row["tree"]:
            other += f" on the tree {abridged(tree_title(row['reference_tree']))}"
        return Sentence(
            f"{start} gets ",
            f"{decimal(abs(100 * gain['value']), 1)}{NARROW}% {more} tokens",
            f" out of a target pass than {other}{_bracket(ends(gain, signed_percent), count)}.",
        )
    if (tau := row["tau"]) is not None:
        return Sentence(
            f"{start} gets ",
            f"{decimal(tau['value'])} tokens",
            f" out of a target pass{_bracket(ends(tau), count)}.",
        )
    return Sentence(f"{start} was run", "", ", but no round of it was whole, so there is no acceptance length yet.")


def _bracket(interval: str, prompts: int) -> str:
    """The interval behind a figure; few prompts have none."""
    few = "one prompt" if prompts == 1 else f"only {prompts} prompts"
    # Gains and speed-ups are over the prompts that the other side has as well.
    few = few if prompts < FEWEST else "too few prompts in common"
    return f" (95{NARROW}% interval {interval})" if interval else f" ({few}, so without an interval)"
