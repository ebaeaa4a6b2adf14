"""Runs as a report uses them: name, manifest, records and the table made from them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from univer.bench.folder import RECORDS, SUMMARY, Record, RunFolder
from univer.bench.report.samples import add_intervals
from univer.bench.summary import ALL, by_cell, summarise

Row = dict[str, Any]

# The types of fields that a page cannot do without.
TYPES: dict[str, tuple[type, ...]] = {
    "group": (str,),
    "draft": (str, NoneType),
    "tree": (str, NoneType),
    "method": (str,),
    "temperature": (int, float),
}


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        name: name of its folder.
        manifest: what it was run with.
        records: what was measured, one record for each prompt and cell.
        reference: the method that gains in acceptance length are relative to.
        rows: the table, made from the records that exist; see `univer.bench.summary.summarise` and `add_intervals`.
        summarised: whether the run wrote a summary, which it does at its end.
    """

    name: str
    manifest: dict[str, Any]
    records: list[Record]
    reference: str
    rows: list[Row]
    summarised: bool

    @property
    def overall(self) -> list[Row]:
        """The rows over all task groups."""
        return [row for row in self.rows if row["group"] == ALL]

    @property
    def groups(self) -> list[str]:
        """The task groups, in the order of the records."""
        return list(dict.fromkeys(row["group"] for row in self.rows if row["group"] != ALL))

    @property
    def audit(self) -> bool:
        """Whether it is an audit, whose prompts are cases: small models that were enumerated."""
        return self.manifest.get("kind") == "audit"

    @property
    def finished(self) -> bool:
        """Whether the run is complete: it wrote a summary, and every row covers all planned prompts.

        An interrupted run has a summary too. Where the manifest names no prompts, all rows must cover equally many; in
        an audit they need not, since each sampling scheme has its own cases.
        """
        if self.audit or not self.summarised:
            return self.summarised
        if self.planned:
            return self.planned <= self.complete
        return len({row["prompts"] for row in self.overall}) == 1

    @property
    def progress(self) -> str:
        """How much of an unfinished run exists, in a few words."""
        if self.audit or not self.planned:
            return "these are its records so far"
        return f"{len(self.planned & self.complete)} of {len(self.planned)} prompts so far"

    @property
    def planned(self) -> frozenset[str]:
        """Names of the prompts of the finished run; empty where the manifest does not name them."""
        settings = self.manifest.get("settings")
        prompts = settings.get("prompts") if isinstance(settings, dict) else None
        entries = prompts if isinstance(prompts, list) else []
        # Traces, and replays of them, describe each prompt by more than its name.
        names = [entry.get("name") if isinstance(entry, dict) else entry for entry in entries]
        return frozenset(name for name in names if isinstance(name, str))

    @property
    def complete(self) -> frozenset[str]:
        """Names of the prompts that every row covers."""
        return frozenset.intersection(*map(frozenset, by_cell(self.records).values()))

    @property
    def prompts(self) -> int:
        """Number of prompts with at least one record."""
        return len({record["prompt"] for record in self.records})


def load_runs(
    paths: Sequence[str | Path], progress: Callable[[str, int, int], None] = lambda what, done, total: None
) -> list[Run]:
    """Read run folders, also of runs that are still in progress or were interrupted.

    Args:
        paths: the folders.
        progress: called with the kind of work, the number of runs read so far and the number of all.

    Returns:
        The runs in the order given. Characters that cannot be displayed are replaced in every text.

    Raises:
        ValueError: a folder does not exist, is given twice, is not a run folder, was written by a newer version, has no
            records, or has one that cannot be used.
    """
    folders = [Path(path) for path in paths]
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} does not exist" if not folder.exists() else f"{folder} is not a folder")
    places = [folder.resolve() for folder in folders]
    if twice := next((folder for folder, place in zip(folders, places, strict=True) if places.count(place) > 1), None):
        raise ValueError(f"{twice} is given twice")
    names = [place.name for place in places]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    runs = []
    for done, (folder, name) in enumerate(zip(folders, names, strict=True), start=1):
        runs.append(_load(folder, name))
        progress("runs", done, len(folders))
    return runs


def displayable(value: Any) -> Any:
    """Replace control characters and unpaired surrogates in all texts of a JSON value.

    Example:
        >>> displayable({"a\\x00": ["b", 1]})
        {'a\ufffd': ['b', 1]}
    """
    if isinstance(value, str):
        return "".join("\ufffd" if unicodedata.category(sign)[0] == "C" else sign for sign in value)
    if isinstance(value, list):
        return [displayable(entry) for entry in value]
    if isinstance(value, dict):
        return {displayable(name): displayable(entry) for name, entry in value.items()}
    return value


def _reference_tree(settings: dict[str, Any]) -> str | None:
    """The tree of the reference for rows whose own tree has none; experiments of the paper set it."""
    experiment = settings.get("experiment")
    tree = experiment.get("reference_tree") if isinstance(experiment, dict) else None
    return tree if isinstance(tree, str) else None


def _load(path: Path, name: str) -> Run:
    folder = RunFolder(path)
    records = displayable(folder.records)
    if not records:
        raise ValueError(f"{path} has no records yet: nothing to report")
    for number, record in enumerate(records, start=1):
        for field, types in TYPES.items():
            if not isinstance(record.get(field), types):
                raise ValueError(f"{path / RECORDS} line {number} has {record.get(field)!r} as its {field}")
    settings = folder.manifest.get("settings") or {}
    try:
        summary = summarise(records, reference_tree=_reference_tree(settings))
        add_intervals(summary["rows"], records)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"the records of {path} cannot be summarised ({type(error).__name__}: {error})") from error
    return Run(
        displayable(name),
        displayable(folder.manifest),
        records,
        summary["reference"],
        summary["rows"],
        (path / SUMMARY).is_file(),
    )
