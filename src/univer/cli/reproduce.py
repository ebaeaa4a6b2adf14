"""`univer reproduce`: the paper's experiments, each by one command."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from zlib import crc32

import typer

from univer.cli.options import Device, Draft, Dtype, IgnoreConfig, Prompts, Target, TrustRemoteCode
from univer.models.catalogue import DEFAULT_MODEL

__all__ = ["reproduce"]

KIND = "reproduce"


def reproduce(
    name: Annotated[str, typer.Argument(help="main-table, temperature-topology, depth or overhead.")],
    target: Target = DEFAULT_MODEL,
    draft: Draft = None,
    questions: Prompts = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Prompts of each task group, chosen by the seed. [default: by experiment]")
    ] = None,
    contexts: Annotated[
        int | None, typer.Option(min=1, help="Contexts of each prompt. [default: by experiment]")
    ] = None,
    drafted: Annotated[
        int | None, typer.Option(min=1, help="Drafted trees per context and sampling scheme. [default: by experiment]")
    ] = None,
    new_tokens: Annotated[
        int, typer.Option(min=8, help="Length of the texts that contexts are taken from; of the answers, for overhead.")
    ] = 64,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed for choosing prompts, and for the texts and the drafted trees.")
    ] = 0,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder of the run; resumes an interrupted run. [default: runs/NAME-TARGET]"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object with all records instead of tables.")
    ] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Measure an experiment of the UniVer paper with models of your own, and print its figures beside the paper's."""
    try:
        from univer.bench import ContextSettings, load_prompts, summarise
        from univer.bench.experiments import experiment
        from univer.bench.paper import PAPER, UNIVER_GAINS, beside_paper
        from univer.bench.questions import choose
        from univer.cli.live_setup import LiveSetup
        from univer.cli.measured import collect_live, measure_pair, pair_settings, print_object, run_folder
        from univer.cli.pair import load_pair
        from univer.cli.run_tables import print_by_group, print_cells, print_costs, print_settings, print_trends
        from univer.cli.terminal import loading, standard_output
        from univer.engine import Sampling
    except ModuleNotFoundError as error:
        raise ValueError(f"reproducing needs more packages: pip install 'univer[models]' ({error})") from error

    if experiment(name).live and (contexts is not None or drafted is not None):
        raise ValueError(f"{name} generates texts and takes times: --contexts and --drafted do not belong to it")
    chosen = experiment(name).sized(count, contexts, drafted)
    prompts = choose(load_prompts(questions), count=chosen.count, seed=seed)
    place = output or Path("runs") / f"{name}-{Path(target).name}"
    settings: dict[str, Any] = {
        "experiment": asdict(chosen),
        "target": Path(target).name,
        "questions": questions.name if questions else "our own",
        "prompts": [prompt.name for prompt in prompts],
        "prompts_checksum": crc32(repr([asdict(prompt) for prompt in prompts]).encode()),
        "new_tokens": new_tokens,
        "seed": seed,
        "ignore_config": ignore_config,
    }
    if chosen.live:
        setup = LiveSetup(
            target=target,
            prompts=tuple(prompts),
            grid={tree: list(names) for tree, names in chosen.trees.items()},
            drafts=(draft,) if draft else (),
            temperatures=chosen.temperatures,
            tokens=new_tokens,
            seed=seed,
            sampling={},
            dtype=dtype,
            device=device,
            ignore_config=ignore_config,
            trust_remote_code=trust_remote_code,
        )
        with loading(quiet=as_json):
            bench, plan = setup.build()
        for left_out in plan.notes:
            print(f"univer: note: left out: {left_out}", file=sys.stderr)
        settings |= plan.settings
    else:
        with loading(quiet=as_json):
            pair = load_pair(
                target,
                draft,
                prompts,
                dtype,
                device,
                trust_remote_code=trust_remote_code,
                ignore_config=ignore_config,
                room=new_tokens + max(row.policy.max_depth for row in chosen.rows),
            )
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
        standard_output().print(f"{chosen.question}\n", soft_wrap=True)
        if chosen.live:
            print_costs(summary)
        else:
            print_cells(summary, chosen.rows)
            if len(chosen.trees) * len(chosen.temperatures) > 2:
                print_trends(summary, folder.records)
            else:
                print_by_group(summary)
        low, high = UNIVER_GAINS
        note = (
            f"The paper ({PAPER}) measured other models on other hardware; across them UniVer gained {low:.1%} to "
            f"{high:.1%} over RRSw. Run: {folder.path}"
        )
        print_settings(folder, summary, interrupted, note)
    return 130 if interrupted else 0
