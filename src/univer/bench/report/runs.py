"""Runs as a report sees them: a name, the manifest, the records and the table that follows from them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from univer.bench.folder import RECORDS, SUMMARY, Record, RunFolder
from univer.bench.summary import ALL, CELL, summarise

Row = dict[str, Any]

# What a page does with these fields of a record it cannot do with anything else.
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
        name: what tells it from other runs of the report: its folder's name.
        manifest: what it was run with.
        records: what was measured, one record for each prompt and cell.
        reference: the method whose acceptance length gains are relative to.
        rows: the table, made from the records at hand.
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
        """The task groups, as they came."""
        return list(dict.fromkeys(row["group"] for row in self.rows if row["group"] != ALL))

    @property
    def audit(self) -> bool:
        """Whether it is an audit: its prompts are cases, small models that were enumerated."""
        return self.manifest.get("kind") == "audit"

    @property
    def finished(self) -> bool:
        """Whether the run came to its end: it has a summary, and all rows are over all prompts that were to be asked.

        An interrupted run has a summary too. Where the manifest names no prompts, rows over equally many are all that
        can be told. In an audit every draft law has cases of its own.
        """
        if self.audit or not self.summarised:
            return self.summarised
        if self.planned:
            return self.planned <= self.whole
        return len({row["prompts"] for row in self.overall}) == 1

    @property
    def so_far(self) -> str:
        """How far a run came that is not finished, in a few words."""
        if self.audit or not self.planned:
            return "these are its records so far"
        return f"{len(self.planned & self.whole)} of {len(self.planned)} prompts so far"

    @property
    def planned(self) -> frozenset[str]:
        """The prompts that were to be asked, by name; none where the manifest does not name them.

        The settings of a trace, which its replays share, say more about each.
        """
        settings = self.manifest.get("settings")
        named = settings.get("prompts") if isinstance(settings, dict) else None
        entries = named if isinstance(named, list) else []
        names = [entry.get("name") if isinstance(entry, dict) else entry for entry in entries]
        return frozenset(name for name in names if isinstance(name, str))

    @property
    def whole(self) -> frozenset[str]:
        """The prompts that all rows have."""
        cells: dict[tuple[Any, ...], set[str]] = {}
        for record in self.records:
            cells.setdefault(tuple(record[name] for name in CELL), set()).add(record["prompt"])
        return frozenset.intersection(*map(frozenset, cells.values()))

    @property
    def prompts(self) -> int:
        """Number of prompts that something was measured on."""
        return len({record["prompt"] for record in self.records})


def load_runs(
    paths: Sequence[str | Path], progress: Callable[[str, int, int], None] = lambda what, done, total: None
) -> list[Run]:
    """Read run folders; one whose run is under way or was killed is read as far as it goes.

    Args:
        paths: the folders.
        progress: called with the name of the work, the number of runs read and that of all.

    Returns:
        The runs in the order given. Characters that cannot be shown are replaced in every text.

    Raises:
        ValueError: a folder is missing, given twice or not that of a run, was written by a newer version, has no
            records, or one that cannot be shown.
    """
    folders = [Path(path) for path in paths]
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is not there" if not folder.exists() else f"{folder} is not a folder")
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


def shown(value: Any) -> Any:
    """A value of JSON with control characters and halves of surrogate pairs in its texts replaced.

    Example:
        >>> shown({"a\\x00": ["b", 1]})
        {'a\ufffd': ['b', 1]}
    """
    if isinstance(value, str):
        return "".join("\ufffd" if unicodedata.category(sign)[0] == "C" else sign for sign in value)
    if isinstance(value, list):
        return [shown(entry) for entry in value]
    if isinstance(value, dict):
        return {shown(name): shown(entry) for name, entry in value.items()}
    return value


def _reference_tree(settings: dict[str, Any]) -> str | None:
    """The tree of the reference for trees without one, which the experiments of the paper set."""
    experiment = settings.get("experiment")
    tree = experiment.get("reference_tree") if isinstance(experiment, dict) else None
    return tree if isinstance(tree, str) else None


def _load(path: Path, name: str) -> Run:
    folder = RunFolder(path)
    records = shown(folder.records)
    if not records:
        raise ValueError(f"{path} has no records yet: nothing to report")
    for number, record in enumerate(records, start=1):
        for field, types in TYPES.items():
            if not isinstance(record.get(field), types):
                raise ValueError(f"{path / RECORDS} line {number} has {record.get(field)!r} as its {field}")
    settings = folder.manifest.get("settings") or {}
    try:
        summary = summarise(records, reference_tree=_reference_tree(settings))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"the records of {path} cannot be summarised ({type(error).__name__}: {error})") from error
    return Run(
        shown(name),
        shown(folder.manifest),
        records,
        summary["reference"],
        summary["rows"],
        (path / SUMMARY).is_file(),
    )
