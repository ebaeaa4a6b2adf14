"""What the commands that measure share: their run folder, measuring into it, and printing it as one object."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from univer.bench.cells import cells_of
from univer.bench.checksum import ids_checksum, weights_checksum
from univer.bench.cluster import Cluster
from univer.bench.folder import Record, RunFolder
from univer.bench.live import LiveBench
from univer.bench.measure import draft_label, measure
from univer.bench.rows import Row, growths_of
from univer.bench.shards import Plan, shards_of
from univer.cli.loading import Pair, changed_settings, generation_config, load_target, pair_with
from univer.cli.options import ContextOptions, ModelOptions, PairOptions
from univer.cli.terminal import print_json, progress
from univer.drafting.base import Draft
from univer.engine.contexts import ContextSettings
from univer.engine.options import Options
from univer.models.prompts import Prompt, encode

__all__ = [
    "LiveSetup",
    "collect",
    "collect_live",
    "context_settings",
    "measure_pair",
    "pair_settings",
    "print_object",
    "run_folder",
]


@dataclass(frozen=True, kw_only=True)
class LiveSetup:
    """Everything that a live benchmark depends on, as text and numbers that travel between processes.

    Attributes:
        models: The target, and how models are loaded.
        prompts: The prompts, with their task group as kind.
        grid: Methods by tree.
        drafts: As `univer generate` takes them; none for its default.
        temperatures: Temperatures of the target.
        tokens: Length of every answer.
        seed: Of all answers.
        sampling: `top_k`, `top_p`, `min_p` and `draft_temperature`.
        ignore_config: Go without the settings of the target's generation configuration.
    """

    models: ModelOptions
    prompts: tuple[Prompt, ...]
    grid: dict[str, list[str]]
    drafts: tuple[str, ...] = ()
    temperatures: tuple[float, ...] = (1.0,)
    tokens: int = 128
    seed: int = 0
    sampling: dict[str, Any]
    ignore_config: bool = False

    def build(self) -> tuple[LiveBench, Plan]:
        """Load the models.

        Returns:
            The benchmark, and what there is to measure.

        Raises:
            ModelError: A model cannot be loaded.
            ValueError: Something in the request cannot be run; the message says what.
        """
        models = self.models
        model, tokenizer = load_target(models)
        config = generation_config(model, ignore=self.ignore_config, greedy=not any(self.temperatures))
        shared = {entry.name: getattr(models, entry.name) for entry in fields(ModelOptions)}
        drafts: dict[str, Draft] = {}
        for named in self.drafts or (None,):
            drafter = pair_with(PairOptions(**shared, draft=named), model, tokenizer).draft
            label = Path(drafter.name).name
            if label in drafts:
                raise ValueError(f"two drafts are called {label!r}: results could not be told apart")
            drafts[label] = drafter
        cells, notes = cells_of(self.grid, drafts, self.temperatures)
        bench = LiveBench(
            model, tokenizer, cells, tokens=self.tokens, seed=self.seed, generation_config=config, **self.sampling
        )
        excess = {prompt.name: bench.excess(prompt) for prompt in self.prompts}
        fitting = [prompt for prompt in self.prompts if not excess[prompt.name]]
        if not fitting:
            raise ValueError(
                f"with answers of {self.tokens} tokens every prompt is longer than the models read, the shortest by "
                f"{min(excess.values())} tokens: ask for shorter answers or give shorter prompts"
            )
        long = [name for name, tokens in excess.items() if tokens]
        if long:
            notes = [
                *notes,
                f"{len(long)} of {len(self.prompts)} prompts, which with answers of {self.tokens} tokens are longer "
                f"than the models read: {', '.join(long)}",
            ]
        settings = {
            "target": Path(models.target).name,
            "drafts": list(drafts),
            "grid": self.grid,
            "temperatures": list(self.temperatures),
            "sampling": self.sampling,
            "ignore_config": self.ignore_config,
            "tokens": self.tokens,
            "seed": self.seed,
            "dtype": str(model.dtype).removeprefix("torch."),
            "device": model.device.type,
            "prompts": [prompt.name for prompt in fitting],
            "prompts_checksum": crc32(repr([asdict(prompt) for prompt in fitting]).encode()),
            "generation": changed_settings(config or getattr(model, "generation_config", None)),
            "weights_checksum": weights_checksum(model, drafts.values()),
            "ids_checksum": ids_checksum(encode(tokenizer, prompt.text) for prompt in fitting),
            "left_out": notes,
        }
        keys = [cell.key(prompt) for prompt in fitting for cell in cells]
        return bench, Plan(settings, shards_of(fitting, self.temperatures), keys, notes)


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
        draft_sampling=None if given["draft_temperature"] is None else request.effective_draft_sampling,
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
