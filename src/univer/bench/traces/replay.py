"""Evaluating methods on the contexts of a trace, without the models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from univer.bench.bounds import enclosure_of
from univer.bench.evaluation import figures, judge
from univer.bench.folder import Record, RunFolder, key
from univer.bench.traces.folder import Recorded, TraceFolder
from univer.bench.traces.growths import Growth, Row, recorded_growths
from univer.bench.traces.packing import unpack
from univer.engine.contexts import Context


def recorded_contexts(trace: TraceFolder, prompt: Recorded, growths: Sequence[Growth]) -> Iterator[Context]:
    """The contexts of a prompt in the order in which they were recorded.

    Args:
        trace: the trace.
        prompt: one of its finished prompts.
        growths: those whose trees are wanted.

    Raises:
        ValueError: the shard cannot be read.
    """
    known = recorded_growths(trace.settings["growths"])
    for recorded in trace.read(prompt):
        if not 0 <= recorded.growth < len(known):
            raise ValueError(f"a tree of the prompt {prompt.name!r} has a growth that the manifest does not list")
        if known[recorded.growth] in growths:
            tree, laws = unpack(recorded.tree)
            yield Context(recorded.place, tree, laws, known[recorded.growth], merged=not recorded.tree.whole)


def replay(
    trace: TraceFolder,
    rows: Sequence[Row],
    into: RunFolder | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Record]:
    """Evaluate methods on every finished prompt of a trace, by the function that `compare` uses.

    Args:
        trace: the trace.
        rows: the methods on their trees, see `growths.chosen_rows`.
        into: run folder that new records are added to; what it has already is not measured again.
        progress: called with the number of prompts finished.

    Yields:
        One record per prompt and row, those that the folder had included.

    Raises:
        ValueError: a method takes exact rows only, and the trace lacks rare tokens; or a shard cannot be read.
    """
    if trace.settings["tail"] > 0:
        for _, entry in rows:
            enclosure_of(entry.method)
    had = {key(record): record for record in into.records} if into else {}
    for done, prompt in enumerate(trace.finished, start=1):
        blank = {row: _record(trace, prompt, row) for row in rows}
        missing = [row for row in rows if key(blank[row]) not in had]
        growths = list({entry.growth for _, entry in missing})
        found = judge(recorded_contexts(trace, prompt, growths), missing) if missing else {}
        for tree, entry in rows:
            record = blank[tree, entry]
            if (tree, entry.name) in found:
                record |= figures(found[tree, entry.name])
                if into:
                    into.append(record)
            yield had.get(key(record), record)
        progress(done)


def _record(trace: TraceFolder, prompt: Recorded, row: Row) -> Record:
    tree, entry = row
    settings: dict[str, Any] = trace.settings
    return {
        "source": "replay",
        "prompt": prompt.name,
        "group": prompt.kind,
        "draft": settings["draft"],
        "tree": tree,
        "method": entry.name,
        "temperature": settings["sampling"]["temperature"],
    }
