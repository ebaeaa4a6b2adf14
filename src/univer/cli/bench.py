"""`univer bench`: benchmarks by real generation."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from univer.cli.options import (
    Device,
    DraftTemperature,
    Dtype,
    IgnoreConfig,
    MinP,
    Prompts,
    Target,
    TopK,
    TopP,
    Trees,
    TrustRemoteCode,
    named,
)
from univer.cli.terminal import loading
from univer.models.catalogue import DEFAULT_MODEL

__all__ = ["bench"]

KIND = "spec-bench"
METHODS = ("rrsw", "traversal", "greedy", "univer")

bench = typer.Typer(help="Benchmarks that generate text with every method and with plain decoding.")


@bench.callback()
def _bench() -> None:
    """Benchmarks that generate text with every method and with plain decoding."""


@bench.command("spec-bench")
def spec_bench(
    target: Target = DEFAULT_MODEL,
    questions: Prompts = None,
    draft: Annotated[
        list[str] | None,
        typer.Option(help="As for 'univer generate'; may be given several times. [default: as there]", callback=named),
    ] = None,
    tree: Trees = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, or method:order; may be given several times. [default: rrsw, traversal, greedy, univer]"
        ),
    ] = None,
    temperature: Annotated[
        list[float] | None, typer.Option(help="Of the target; may be given several times. [default: 1]")
    ] = None,
    groups: Annotated[
        list[str] | None, typer.Option(help="A task group; may be given several times. [default: all]")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Prompts of each task group, chosen by the seed. [default: all]")
    ] = None,
    tokens: Annotated[int, typer.Option(min=2, help="New tokens of every answer; nothing stops one earlier.")] = 128,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    draft_temperature: DraftTemperature = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for choosing prompts and generating answers.")] = 0,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder for records and summary; resumes an interrupted run.")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Distribute the prompts over a Ray cluster: auto, host:port, or local for one on this machine.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="With --ray: how many workers. [default: one a GPU, else one a machine]")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object with all records instead of tables.")
    ] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Tokens per target pass and speed on the task groups of Spec-Bench, or on prompts of your own.

    The exit status is 1 if a method read or wrote another number of tokens than plain decoding, or in float32 at
    temperature 0 another text.
    """
    try:
        from univer.bench import load_prompts, summarise
        from univer.bench.agreement import disagreements
        from univer.bench.cells import fitting
        from univer.bench.cluster import Cluster
        from univer.bench.live import LiveBench
        from univer.bench.questions import choose
        from univer.cli.live_setup import LiveSetup
        from univer.cli.measured import collect_live, print_object, run_folder
        from univer.cli.run_tables import print_by_group, print_disagreements, print_settings
        from univer.engine import Sampling
    except ModuleNotFoundError as error:
        raise ValueError(f"the benchmark needs more packages: pip install 'univer[models]' ({error})") from error

    # Options are checked before a model is loaded.
    grid, left_out = fitting(tree or ["2x5"], method or METHODS)
    temperatures = tuple(temperature or (1.0,))
    if len(set(temperatures)) < len(temperatures):
        raise ValueError("a temperature is given twice")
    for value in temperatures:
        Sampling(value, top_k, top_p, min_p)
    if workers is not None and ray is None:
        raise ValueError("--workers needs --ray: without a cluster everything runs in this process")
    if draft_temperature is not None:
        Sampling(draft_temperature)
    setup = LiveSetup(
        target=target,
        prompts=tuple(choose(load_prompts(questions), groups, count, seed)),
        grid=grid,
        drafts=tuple(draft or ()),
        temperatures=temperatures,
        tokens=tokens,
        seed=seed,
        sampling={"top_k": top_k, "top_p": top_p, "min_p": min_p, "draft_temperature": draft_temperature},
        dtype=dtype,
        device=device,
        ignore_config=ignore_config,
        trust_remote_code=trust_remote_code,
    )
    with ExitStack() as stack:
        source: LiveBench | Cluster
        with loading(quiet=as_json):
            if ray is None:
                source, plan = setup.build()
            else:
                source = stack.enter_context(Cluster(setup.build, ray, workers))
                plan = source.plan
        for note in (*left_out, *plan.notes):
            print(f"univer: note: left out: {note}", file=sys.stderr)
        named = {"questions": questions.name if questions else None, "groups": groups, "count": count}
        folder = stack.enter_context(run_folder(output, KIND, plan.settings | named))
        try:
            interrupted = collect_live(folder, source, plan, quiet=as_json)
        finally:
            if isinstance(source, Cluster):
                folder.add_workers(source.machines)
        records = plan.ordered(folder.records)
        found = disagreements(records)
        summary = summarise(records) | {"disagreements": found}
        folder.finish(summary)
        if as_json:
            print_object(folder, records, summary, interrupted)
        else:
            print_by_group(summary)
            print_settings(folder, summary, interrupted)
        wrong = print_disagreements(found, folder.settings["dtype"])
    return 130 if interrupted else int(wrong)
