"""`univer compare`: all methods on the same contexts, from their exact outcome distributions."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated
from zlib import crc32

import typer

from univer.cli.options import (
    Contexts,
    Device,
    Draft,
    Drafted,
    DraftTemperature,
    Dtype,
    IgnoreConfig,
    MinP,
    NewTokens,
    Prompts,
    Target,
    TopK,
    TopP,
    Trees,
    TrustRemoteCode,
)
from univer.cli.tuned import Tuned, note_differences, with_tuned
from univer.models.catalogue import DEFAULT_MODEL

__all__ = ["compare"]

KIND = "compare"


def compare(
    target: Target = DEFAULT_MODEL,
    draft: Draft = None,
    tree: Trees = None,
    tuned: Tuned = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, or method:order; may be given several times. [default: all but the linear programmes]"
        ),
    ] = None,
    prompts: Prompts = None,
    count: Annotated[int, typer.Option(min=1, help="Number of prompts, the task groups in turn.")] = 12,
    contexts: Contexts = 8,
    drafted: Drafted = 2,
    new_tokens: NewTokens = 64,
    temperature: Annotated[
        float | None, typer.Option(help="Above 0: at temperature 0 all exact methods agree. [default: 1]")
    ] = None,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    draft_temperature: DraftTemperature = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the texts and the drafted trees.")] = 0,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder for records and summary; resumes an interrupted run.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object with all records instead of the table.")
    ] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Compare the acceptance length of all methods on the same contexts, without counting noise."""
    try:
        from univer.bench import ContextSettings, load_prompts, rows_for, summarise
        from univer.bench.paper import beside_paper
        from univer.bench.rows import describe
        from univer.cli.measured import measure_pair, pair_settings, print_object, run_folder
        from univer.cli.pair import load_pair
        from univer.cli.run_tables import print_cells, print_settings
        from univer.engine import Sampling
    except ModuleNotFoundError as error:
        raise ValueError(f"comparing needs more packages: pip install 'univer[models]' ({error})") from error

    # Options are checked before a model is loaded.
    profile, options = with_tuned(
        tuned,
        tree,
        draft=draft,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        draft_temperature=draft_temperature,
    )
    filters = (options["top_k"], options["top_p"], options["min_p"])
    sampling = Sampling(1.0 if options["temperature"] is None else options["temperature"], *filters)
    if sampling.greedy:
        raise ValueError("at temperature 0 every exact method keeps the same tokens: compare above 0")
    of_draft = options["draft_temperature"]
    draft_sampling = Sampling(of_draft, *filters) if of_draft is not None else None
    rows = rows_for([profile.tree] if profile and profile.tree else tree or ["2x5"], method)
    chosen = load_prompts(prompts, count)

    pair = load_pair(
        target,
        options["draft"],
        chosen,
        dtype,
        device,
        trust_remote_code=trust_remote_code,
        ignore_config=ignore_config,
        room=new_tokens + max(row.policy.max_depth for row in rows),
    )
    if profile is not None and tuned is not None:
        profile.check(pair.target, pair.draft.name)
        note_differences(profile, tuned, pair.target, vars(sampling))
    sampled = ContextSettings(
        sampling=sampling,
        draft_sampling=draft_sampling,
        places=contexts,
        drafted=drafted,
        new_tokens=new_tokens,
        generation_config=pair.generation_config,
    )
    settings = {
        "target": Path(target).name,
        "questions": prompts.name if prompts else "our own",
        "prompts_checksum": crc32(repr([asdict(prompt) for prompt, _ in pair.prompts]).encode()),
        "sampling": vars(sampling),
        "draft_sampling": vars(sampled.of_draft),
        "places": contexts,
        "drafted": drafted,
        "new_tokens": new_tokens,
        "seed": seed,
        "ignore_config": ignore_config,
        **pair_settings(pair),
    }
    # Methods may be added to a run later; its trees may not change.
    settings["growths"] = describe(rows)["growths"]
    with run_folder(output, KIND, settings) as folder:
        seeds = range(seed, seed + len(pair.prompts))
        interrupted = measure_pair(folder, pair, rows, [sampled], seeds=seeds, quiet=as_json)
        summary = summarise(folder.records)
        summary["paper"] = beside_paper(summary)
        folder.finish(summary)
        if as_json:
            print_object(folder, folder.records, summary, interrupted)
        else:
            print_cells(summary, rows)
            print_settings(folder, summary, interrupted)
    return 130 if interrupted else 0
