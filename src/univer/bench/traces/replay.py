"""Evaluating methods on the contexts of a trace, without the models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from univer.bench.folder import Key, Record, key
from univer.bench.measure import labels, records_of
from univer.bench.rows import Row
from univer.bench.traces.folder import TraceFolder


def replay(
    trace: TraceFolder,
    rows: Sequence[Row],
    done: Collection[Key] = (),
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Record]:
    """Evaluate methods on every finished prompt of a trace.

    The figures are those of `univer.bench.measure` on the same contexts, to the last bit on the same machine.

    Args:
        trace: the trace.
        rows: the methods on their trees, see `univer.bench.rows.chosen_rows`.
        done: keys of the records that there are already.
        progress: called with the number of prompts finished.

    Yields:
        One record per prompt and row that has none yet.

    Raises:
        ValueError: a shard cannot be read.
    """
    settings = trace.settings
    for number, prompt in enumerate(trace.finished, start=1):
        blank: Record = {"source": "replay", "prompt": prompt.name, "group": prompt.kind}
        blank |= {"draft": settings["draft"], "temperature": settings["sampling"]["temperature"]}
        missing = [row for row in rows if key(blank | labels(row)) not in done]
        if missing:
            growths = {row.growth for row in missing}
            yield from records_of(
                blank, (context for context in trace.contexts(prompt) if context.growth in growths), missing
            )
        progress(number)
