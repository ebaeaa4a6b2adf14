"""`univer bench`: benchmarks by real generation."""

from contextlib import ExitStack
from dataclasses import asdict
from typing import Annotated

import typer

from univer.cli.options import (
    AsJson,
    FilterOptions,
    IgnoreConfig,
    ModelOptions,
    Questions,
    RunOutput,
    Seed,
    Trees,
    expanded,
    methods_option,
    model_option,
    named,
    prompt_option,
    sampling_option,
)

__all__ = ["bench"]

KIND = "spec-bench"
METHODS = ("rrsw", "traversal", "greedy", "univer")

bench = typer.Typer(help="Benchmarks that generate text with every method and with plain decoding.")


@bench.callback()
def _bench() -> None:
    """Benchmarks that generate text with every method and with plain decoding."""


@bench.command(
    "spec-bench",
    epilog="Examples:\n\n  univer bench spec-bench --count 1 --tokens 32\n\n  univer bench spec-bench --output my-run",
)
@expanded
def spec_bench(
    *,
    models: ModelOptions,
    draft: Annotated[
        list[str] | None,
        model_option(
            help="Draft, as in 'univer generate --help'. Repeat for several.",
            show_default="that of 'univer generate'",
            callback=named,
        ),
    ] = None,
    questions: Questions = None,
    groups: Annotated[
        list[str] | None,
        prompt_option(help="Task group to measure. Repeat for several.", show_default="all"),
    ] = None,
    count: Annotated[
        int | None,
        prompt_option(min=1, help="Prompts of each task group, chosen by the seed.", show_default="all"),
    ] = None,
    tokens: Annotated[
        int,
        prompt_option(min=2, help="Length of the answer to each prompt, in tokens; nothing ends it."),
    ] = 128,
    tree: Trees = None,
    method: Annotated[list[str] | None, methods_option("rrsw, traversal, greedy, univer")] = None,
    temperature: Annotated[
        list[float] | None,
        sampling_option(help="Sampling temperature. Repeat for several.", show_default="1"),
    ] = None,
    filters: FilterOptions,
    ignore_config: IgnoreConfig = False,
    seed: Seed = 0,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Distribute the prompts over a Ray cluster: auto, host:port, or local for one on this machine. Needs "
            "pip install 'univer[ray]'.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of workers with --ray.", show_default="one per GPU, else one per machine"),
    ] = None,
    output: RunOutput = None,
    as_json: AsJson = False,
) -> int:
    """Tokens per target pass and speed on the task groups of Spec-Bench, or on prompts of your own.

    The exit status is 1 if a method read or wrote another number of tokens than plain decoding, or in float32 at
    temperature 0 another text.
    """
    from univer.bench import load_prompts, summarise
    from univer.bench.agreement import disagreements
    from univer.bench.cells import BY_DRAFT, fitting
    from univer.bench.cluster import Cluster
    from univer.bench.folder import RunFolder
    from univer.bench.live import LiveBench
    from univer.bench.questions import choose
    from univer.cli.loading import note
    from univer.cli.measured import LiveSetup, collect_live, print_object, run_folder
    from univer.cli.run_tables import print_by_group, print_disagreements, print_settings
    from univer.cli.terminal import loading
    from univer.engine.options import Options
    from univer.methods import resolve

    # Options are checked before a model is loaded.
    names = method or list(METHODS)
    grid, left_out = fitting(tree, names) if tree else ({BY_DRAFT: names}, [])
    for name in names:
        resolve(name.partition(":")[0])
    temperatures = tuple(temperature or (1.0,))
    if len(set(temperatures)) < len(temperatures):
        raise ValueError("a temperature is given twice")
    sampling = asdict(filters)
    for value in temperatures:
        Options(temperature=value, **sampling)
    if workers is not None and ray is None:
        raise ValueError("--workers needs --ray: without a cluster everything runs in this process")
    RunFolder.check(output, KIND)
    setup = LiveSetup(
        models=models,
        prompts=tuple(choose(load_prompts(questions), groups, count, seed)),
        grid=grid,
        drafts=tuple(draft or ()),
        temperatures=temperatures,
        tokens=tokens,
        seed=seed,
        sampling=sampling,
        ignore_config=ignore_config,
    )
    with ExitStack() as stack:
        source: LiveBench | Cluster
        with loading(quiet=as_json):
            if ray is None:
                source, plan = setup.build()
            else:
                source = stack.enter_context(Cluster(setup.build, ray, workers))
                plan = source.plan
        for reason in (*left_out, *plan.notes):
            note(f"left out: {reason}")
        chosen = {"questions": questions.name if questions else None, "groups": groups, "count": count}
        folder = stack.enter_context(run_folder(output, KIND, plan.settings | chosen))
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
