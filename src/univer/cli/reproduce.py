"""`univer reproduce`: the paper's experiments, each by one command."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from zlib import crc32

import typer

from univer.cli.options import AsJson, IgnoreConfig, PairOptions, Questions, Seed, prompt_option

__all__ = ["reproduce"]

KIND = "reproduce"
BY_EXPERIMENT = "by experiment"


def reproduce(
    *,
    name: Annotated[str, typer.Argument(help="main-table, temperature-topology, depth or overhead.")],
    models: PairOptions,
    questions: Questions = None,
    count: Annotated[
        int | None,
        prompt_option(min=1, help="Prompts of each task group, chosen by the seed.", show_default=BY_EXPERIMENT),
    ] = None,
    contexts: Annotated[
        int | None,
        prompt_option(min=1, help="Positions measured in the answer to each prompt.", show_default=BY_EXPERIMENT),
    ] = None,
    drafted: Annotated[
        int | None,
        typer.Option(
            min=1, help="Trees drafted at each position for every sampling scheme.", show_default=BY_EXPERIMENT
        ),
    ] = None,
    new_tokens: Annotated[int, prompt_option(min=8, help="Length of the answer to each prompt, in tokens.")] = 64,
    ignore_config: IgnoreConfig = False,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder for records and summary; an interrupted run in it is resumed.",
            show_default="runs/NAME-TARGET",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Measure an experiment of the UniVer paper with models of your own, and print its figures beside the paper's."""
    from univer.bench import ContextSettings, load_prompts, summarise
    from univer.bench.experiments import experiment
    from univer.bench.folder import RunFolder
    from univer.bench.paper import PAPER, UNIVER_GAINS, beside_paper
    from univer.bench.questions import choose
    from univer.cli.loading import load_pair, note, with_prompts
    from univer.cli.measured import LiveSetup, collect_live, measure_pair, pair_settings, print_object, run_folder
    from univer.cli.run_tables import print_by_group, print_cells, print_costs, print_settings, print_trends
    from univer.cli.terminal import loading, print_lines
    from univer.engine import Sampling

    if experiment(name).live and (contexts is not None or drafted is not None):
        raise ValueError(f"{name} generates texts and takes times: --contexts and --drafted do not belong to it")
    chosen = experiment(name).sized(count, contexts, drafted)
    prompts = choose(load_prompts(questions), count=chosen.count, seed=seed)
    place = output or Path("runs") / f"{name}-{Path(models.target).name}"
    RunFolder.check(place, KIND)
    settings: dict[str, Any] = {
        "experiment": asdict(chosen),
        "target": Path(models.target).name,
        "questions": questions.name if questions else "our own",
        "prompts": [prompt.name for prompt in prompts],
        "prompts_checksum": crc32(repr([asdict(prompt) for prompt in prompts]).encode()),
        "new_tokens": new_tokens,
        "seed": seed,
        "ignore_config": ignore_config,
    }
    if chosen.live:
        setup = LiveSetup(
            models=models,
            prompts=tuple(prompts),
            grid={tree: list(names) for tree, names in chosen.trees.items()},
            drafts=(models.draft,) if models.draft else (),
            temperatures=chosen.temperatures,
            tokens=new_tokens,
            seed=seed,
            sampling={},
            ignore_config=ignore_config,
        )
        with loading(quiet=as_json):
            bench, plan = setup.build()
        for left_out in plan.notes:
            note(f"left out: {left_out}")
        settings |= plan.settings
    else:
        with loading(quiet=as_json):
            room = new_tokens + max(row.policy.max_depth for row in chosen.rows)
            pair = with_prompts(load_pair(models), prompts, room, ignore_config=ignore_config)
        settings |= pair_settings(pair)
    with run_folder(place, KIND, settings) as folder:
        if chosen.live:
            interrupted = collect_live(folder, bench, plan, quiet=as_json)
        else:
            sampled = [
                ContextSettings(
                    sampling=Sampling(temperature),
                    places=chosen.places,
                    drafted=chosen.drafted,
                    new_tokens=new_tokens,
                    generation_config=pair.generation_config,
                )
                for temperature in chosen.temperatures
            ]
            # By name: a prompt's figures do not depend on which others are measured.
            seeds = [crc32(f"{seed} {prompt.name}".encode()) for prompt, _ in pair.prompts]
            interrupted = measure_pair(folder, pair, chosen.rows, sampled, seeds=seeds, quiet=as_json)
        summary = summarise(folder.records, reference_tree=chosen.reference_tree)
        summary["paper"] = beside_paper(summary)
        folder.finish(summary)
        if as_json:
            print_object(folder, folder.records, summary, interrupted)
            return 130 if interrupted else 0
        print_lines(chosen.question, "")
        if chosen.live:
            print_costs(summary)
        else:
            print_cells(summary, chosen.rows)
            if len(chosen.trees) * len(chosen.temperatures) > 2:
                print_trends(summary, folder.records)
            else:
                print_by_group(summary)
        low, high = UNIVER_GAINS
        beside = (
            f"The paper ({PAPER}) measured other models on other hardware; across them UniVer gained {low:.1%} to "
            f"{high:.1%} over RRSw. Run: {folder.path}"
        )
        print_settings(folder, summary, interrupted, beside)
    return 130 if interrupted else 0
