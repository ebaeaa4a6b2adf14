"""`univer reproduce`: the paper's experiments, each by one command."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zlib import crc32

import typer

from univer.cli.options import Device, Draft, Dtype, IgnoreConfig, Prompts, Target, TrustRemoteCode
from univer.models.catalogue import DEFAULT_MODEL

if TYPE_CHECKING:
    from univer.bench.experiments import Experiment
    from univer.bench.folder import Record, RunFolder
    from univer.models.prompts import Prompt

__all__ = ["reproduce"]

KIND = "reproduce"


def reproduce(
    name: Annotated[str, typer.Argument(help="main-table, temperature-topology, depth or overhead.")],
    target: Target = DEFAULT_MODEL,
    draft: Draft = None,
    questions: Prompts = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Prompts of each task group, drawn by the seed. [default: by experiment]")
    ] = None,
    contexts: Annotated[
        int | None, typer.Option(min=1, help="Contexts of each prompt. [default: by experiment]")
    ] = None,
    drafted: Annotated[
        int | None, typer.Option(min=1, help="Drafted trees per context and draft law. [default: by experiment]")
    ] = None,
    new_tokens: Annotated[
        int, typer.Option(min=8, help="Length of the texts that contexts are taken from; of the answers, for overhead.")
    ] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Of prompts, texts and draws.")] = 0,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder of the run; one that was interrupted goes on. [default: runs/NAME-TARGET]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one object instead of tables.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Measure an experiment of the UniVer paper with models of your own, and print its figures beside the paper's."""
    try:
        from univer.bench.experiments import experiment
        from univer.bench.questions import choose
        from univer.bench.reproduce import beside_paper
        from univer.bench.summary import summarise
        from univer.cli.reproduce_tables import print_experiment
        from univer.models.prompts import load_prompts
    except ModuleNotFoundError as error:
        raise ValueError(f"reproducing needs more packages: pip install 'univer[models]' ({error})") from error

    if experiment(name).live and (contexts is not None or drafted is not None):
        raise ValueError(f"{name} generates texts and takes times: --contexts and --drafted do not belong to it")
    chosen = experiment(name).sized(count, contexts, drafted)
    prompts = choose(load_prompts(questions), count=chosen.count, seed=seed)
    place = output or Path("runs") / f"{name}-{Path(target).name}"
    common: dict[str, Any] = {
        "experiment": asdict(chosen),
        "target": Path(target).name,
        "questions": questions.name if questions else "our own",
        "prompts": [prompt.name for prompt in prompts],
        "prompts_checksum": crc32(repr([asdict(prompt) for prompt in prompts]).encode()),
        "new_tokens": new_tokens,
        "seed": seed,
        "ignore_config": ignore_config,
    }
    models = {"target": target, "draft": draft, "dtype": dtype, "device": device, "trust": trust_remote_code}
    work = _live if chosen.live else _replayed
    folder, interrupted = work(chosen, prompts, models, common, place, quiet=as_json)
    summary = summarise(folder.records, reference_tree=chosen.reference_tree)
    summary["paper"] = beside_paper(summary)
    folder.finish(summary)
    if as_json:
        typer.echo(json.dumps(folder.manifest | {"interrupted": interrupted, "summary": summary}, indent=1))
    else:
        print_experiment(chosen, summary, folder, interrupted)
    return 130 if interrupted else 0


def _replayed(
    chosen: "Experiment",
    prompts: "list[Prompt]",
    models: dict[str, Any],
    common: dict[str, Any],
    place: Path,
    quiet: bool,
) -> "tuple[RunFolder, bool]":
    """Measure tau by exact outcome laws."""
    from univer.bench.checksum import ids_checksum, weights_checksum
    from univer.bench.folder import RunFolder
    from univer.bench.reproduce import entries_of, measure
    from univer.cli.pair import load_pair
    from univer.cli.terminal import loading, progress

    entries = entries_of(chosen)
    with loading(quiet=quiet):
        pair = load_pair(
            models["target"],
            models["draft"],
            prompts,
            models["dtype"],
            models["device"],
            trust_remote_code=models["trust"],
            ignore_config=common["ignore_config"],
            room=common["new_tokens"] + max(entry.policy.max_depth for _, entry in entries),
        )
    settings = common | {
        "prompts": [prompt.name for prompt, _ in pair.prompts],
        "draft": Path(pair.draft.name).name,
        "dtype": str(pair.target.dtype).removeprefix("torch."),
        "device": pair.target.device.type,
        "weights_checksum": weights_checksum(pair.target, [pair.draft]),
        "ids_checksum": ids_checksum(ids for _, ids in pair.prompts),
    }
    folder = RunFolder.open(place, KIND, settings)
    growths = len({entry.growth for _, entry in entries})
    each = chosen.places * chosen.drafted * growths
    total = len(pair.prompts) * len(chosen.temperatures) * each
    rows = len(entries)
    done = len(folder.records) // rows * each
    with progress(quiet=quiet) as tell:

        def tick() -> None:
            nonlocal done
            done += 1
            tell("drafted trees", min(done, total), total)

        new = measure(
            pair.target,
            pair.draft,
            pair.prompts,
            chosen,
            seed=common["seed"],
            new_tokens=common["new_tokens"],
            generation_config=pair.generation_config,
            done=folder.done,
            progress=tick,
        )
        return folder, _collect(new, folder)


def _live(
    chosen: "Experiment",
    prompts: "list[Prompt]",
    models: dict[str, Any],
    common: dict[str, Any],
    place: Path,
    quiet: bool,
) -> "tuple[RunFolder, bool]":
    """Generate and take the time."""
    from univer.bench.folder import RunFolder
    from univer.cli.live_setup import LiveSetup
    from univer.cli.terminal import loading, progress

    setup = LiveSetup(
        target=models["target"],
        prompts=tuple(prompts),
        grid={tree: list(names) for tree, names in chosen.trees.items()},
        drafts=(models["draft"],) if models["draft"] else (),
        temperatures=chosen.temperatures,
        tokens=common["new_tokens"],
        seed=common["seed"],
        sampling={},
        dtype=models["dtype"],
        device=models["device"],
        ignore_config=common["ignore_config"],
        trust_remote_code=models["trust"],
    )
    with loading(quiet=quiet):
        bench, plan = setup.build()
    for note in plan.notes:
        print(f"univer: note: left out: {note}", file=sys.stderr)
    folder = RunFolder.open(place, KIND, common | plan.settings)
    with progress(quiet=quiet) as tell:
        total = len(plan.keys)

        def told() -> "Any":
            for record in bench.records(plan.shards, folder.done):
                yield record
                tell("records", len(folder.records), total)

        return folder, _collect(told(), folder)


def _collect(new: "Any", folder: "RunFolder") -> bool:
    """Keep records as they are measured; whether the user interrupted it."""
    try:
        record: Record
        for record in new:
            folder.append(record)
    except KeyboardInterrupt:
        return True
    return False
