"""What the commands that measure share: their run folder, measuring into it, and printing it as one object."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from univer.bench.checksum import ids_checksum, weights_checksum
from univer.bench.cluster import Cluster
from univer.bench.folder import Record, RunFolder
from univer.bench.live import LiveBench
from univer.bench.measure import draft_label, measure
from univer.bench.rows import Row, growths_of
from univer.bench.shards import Plan
from univer.cli.loading import Pair
from univer.cli.options import ContextOptions
from univer.cli.terminal import print_json, progress
from univer.engine.contexts import ContextSettings
from univer.engine.options import Options

__all__ = ["collect", "collect_live", "context_settings", "measure_pair", "pair_settings", "print_object", "run_folder"]


def context_settings(options: ContextOptions, given: Mapping[str, Any]) -> ContextSettings:
    """How contexts are sampled.

    Args:
        options: As given on the command line.
        given: Temperature, filters and temperature of the draft; None where not given.

    Raises:
        ValueError: A setting out of range, or temperature 0.
    """
    request = Options(**{name: value for name, value in given.items() if value is not None})
    if request.sampling.greedy:
        raise ValueError("at temperature 0 every exact method accepts the same tokens: use a temperature above 0")
    return ContextSettings(
        sampling=request.sampling,
        draft_sampling=None if given["draft_temperature"] is None else request.draft_laws,
        places=options.contexts,
        drafted=options.drafted,
        new_tokens=options.new_tokens,
    )


@contextmanager
def run_folder(path: Path | None, kind: str, settings: Mapping[str, Any]) -> Iterator[RunFolder]:
    """The folder of a run, new or resumed.

    Args:
        path: The folder; None for a temporary one that is deleted in the end.
        kind: Name of the command.
        settings: Everything the figures depend on.

    Raises:
        ValueError: See `RunFolder.open`.
    """
    with TemporaryDirectory() as temporary:
        yield RunFolder.open(path or Path(temporary), kind, settings)


def collect(folder: RunFolder, new: Iterable[Record], finished: Callable[[int], None] = lambda records: None) -> bool:
    """Add records to a run as they are measured.

    Args:
        folder: The run.
        new: The records.
        finished: Called with the number of all records of the run.

    Returns:
        Whether the user interrupted it.
    """
    try:
        finished(len(folder.done))
        for record in new:
            folder.append(record)
            finished(len(folder.done))
    except KeyboardInterrupt:
        return True
    return False


def pair_settings(pair: Pair) -> dict[str, Any]:
    """What the figures of a run depend on that only the loaded models say."""
    return {
        "prompts": [prompt.name for prompt, _ in pair.prompts],
        "draft": draft_label(pair.draft),
        "dtype": str(pair.target.dtype).removeprefix("torch."),
        "device": pair.target.device.type,
        "weights_checksum": weights_checksum(pair.target, [pair.draft]),
        "ids_checksum": ids_checksum(ids for _, ids in pair.prompts),
    }


def measure_pair(
    folder: RunFolder,
    pair: Pair,
    rows: Sequence[Row],
    settings: Sequence[ContextSettings],
    *,
    seeds: Sequence[int],
    quiet: bool,
) -> bool:
    """Measure rows on contexts of a pair of models, see `univer.bench.measure`.

    Args:
        folder: The run, to which the records are added.
        pair: The models, with the prompts.
        rows: What to measure.
        settings: How contexts are sampled, once for every temperature.
        seeds: One for every prompt.
        quiet: Show no progress.

    Returns:
        Whether the user interrupted it.
    """
    each = settings[0].places * settings[0].drafted * len(growths_of(rows))
    done, total = len(folder.done) // len(rows) * each, len(pair.prompts) * len(settings) * each
    with progress(quiet=quiet) as report:

        def drafted() -> None:
            nonlocal done
            done += 1
            report("drafted trees", min(done, total), total)

        new = measure(
            pair.target, pair.draft, pair.prompts, rows, settings, seeds=seeds, done=folder.done, progress=drafted
        )
        return collect(folder, new)


def collect_live(folder: RunFolder, source: LiveBench | Cluster, plan: Plan, quiet: bool) -> bool:
    """Measure what is left of a live benchmark.

    Args:
        folder: The run, to which the records are added.
        source: What measures.
        plan: What there is to measure.
        quiet: Show no progress.

    Returns:
        Whether the user interrupted it.
    """
    with progress(quiet=quiet) as report:
        new = source.records(plan.shards, folder.done)
        return collect(folder, new, lambda done: report("records", done, len(plan.keys)))


def print_object(folder: RunFolder, records: Sequence[Record], summary: Mapping[str, Any], interrupted: bool) -> None:
    """Print manifest, summary and records of a run as one JSON object."""
    found = {"interrupted": interrupted, "summary": summary, "records": records}
    print_json(folder.manifest | found)
