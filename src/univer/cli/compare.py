"""`univer compare`: all methods on the same contexts, by their exact outcome laws."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from univer.cli.output import check_new_file
from univer.cli.tuned import Tuned, note_differences, with_tuned
from univer.models.catalogue import DEFAULT_MODEL

if TYPE_CHECKING:
    from univer.bench import Comparison
    from univer.bench.intervals import Interval

__all__ = ["compare"]

COLUMNS = ("tree", "method", "draft law", "nodes", "tau", "95% interval", "gain over rrsw", "95% interval", "paper")


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
    count: Annotated[int, typer.Option(min=1, help="Number of prompts, kind after kind in turn.")] = 12,
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
    seed: Annotated[int, typer.Option(min=0, help="Of texts and draws.")] = 0,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object with all raw figures instead of the table.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Write that object to a file as well; it must be new.")] = None,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Compare the acceptance length of all methods on the same contexts, without counting noise."""
    try:
        from univer.bench import load_prompts
        from univer.bench.compare import compare as run
        from univer.bench.compare import prepare
        from univer.cli.pair import load_pair
        from univer.cli.terminal import progress
        from univer.engine import Sampling
    except ModuleNotFoundError as error:
        raise ValueError(f"comparing needs more packages: pip install 'univer[models]' ({error})") from error

    # What can be refused without a model is refused before one is loaded.
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
    comparison = prepare([profile.tree] if profile and profile.tree else tree or ["2x5"], method)
    chosen = load_prompts(prompts, count)
    if output is not None:
        check_new_file(output)

    pair = load_pair(
        target,
        options["draft"],
        chosen,
        dtype,
        device,
        trust_remote_code=trust_remote_code,
        ignore_config=ignore_config,
        room=new_tokens + max(entry.policy.max_depth for _, entry in comparison.entries),
    )
    if profile is not None and tuned is not None:
        profile.check(pair.target, pair.draft.name)
        note_differences(profile, tuned, pair.target, vars(sampling))
    growths = {entry.growth for _, entry in comparison.entries}
    interrupted = False
    total = len(pair.prompts) * contexts * drafted * len(growths)
    with progress(quiet=as_json) as tell:
        try:
            run(
                pair.target,
                pair.draft,
                pair.prompts,
                sampling=sampling,
                draft_sampling=draft_sampling,
                places=contexts,
                drafted=drafted,
                new_tokens=new_tokens,
                seed=seed,
                generation_config=pair.generation_config,
                progress=lambda done: tell("drafted trees", done, total),
                into=comparison,
            )
        except KeyboardInterrupt:
            interrupted = True
    found = comparison.to_dict() | {"interrupted": interrupted}
    if output is not None and comparison.taus:
        output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(found, indent=1))
    else:
        _print(comparison, interrupted)
    return 130 if interrupted else 0


def _print(comparison: "Comparison", interrupted: bool) -> None:
    from univer.cli.terminal import print_table, standard_output
    from univer.engine.contexts import contexts_each

    console = standard_output()
    rows = comparison.rows()
    if not rows:
        console.print("interrupted before the first prompt was finished: nothing to show")
        return
    cells = []
    for (tree, _), row in zip(comparison.entries, rows, strict=True):
        gain = row.gain
        cells.append(
            [
                tree,
                row.entry.name + ("" if row.entry.method.exact else " (lossy)"),
                row.entry.law,
                f"{row.nodes:.1f}",
                f"{row.tau.value:.3f}",
                _ends(row.tau, ".3f"),
                f"{gain.value:+.1%}" if gain else "",
                _ends(gain, "+.1%") if gain else "",
                f"{row.paper:+.1%}" if row.paper is not None else "",
            ]
        )
    print_table(COLUMNS, cells)
    settings = comparison.settings
    found = contexts_each((taus for own in comparison.taus.values() for taus in own.values()), settings["drafted"])
    versions = settings["machine"]["versions"]
    console.print(
        f"{settings['target']} with {settings['draft']}, {settings['dtype']} on {settings['device']}, "
        f"temperature {settings['temperature']}, {len(comparison.taus)} prompts, {found}, "
        f"{settings['drafted']} drafted trees per context and law, seed {settings['seed']}, "
        f"univer {versions['univer']}, torch {versions['torch']}, transformers {versions['transformers']}"
        + (" (interrupted: the prompts finished so far)" if interrupted else ""),
        soft_wrap=True,
    )


def _ends(interval: "Interval", form: str) -> str:
    if interval.low is None or interval.high is None:
        return "-"
    return f"{interval.low:{form}} to {interval.high:{form}}"
