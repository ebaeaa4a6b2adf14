"""`univer trace`: record drafted trees and the rows that methods need, to evaluate them without the models."""

import json
import sys
from pathlib import Path
from typing import Annotated

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
from univer.models.catalogue import DEFAULT_MODEL

__all__ = ["trace"]


def trace(
    output: Annotated[Path, typer.Argument(help="Folder of the trace; one that was begun is gone on with.")],
    target: Target = DEFAULT_MODEL,
    draft: Draft = None,
    tree: Trees = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Draft trees for this method, or method:order; may be given several times. [default: as compare]"
        ),
    ] = None,
    prompts: Prompts = None,
    count: Annotated[int, typer.Option(min=1, help="Number of prompts, task group after task group in turn.")] = 12,
    contexts: Contexts = 8,
    drafted: Drafted = 2,
    new_tokens: NewTokens = 64,
    temperature: Annotated[
        float, typer.Option(help="Above 0: at temperature 0 all exact methods keep the same tokens.")
    ] = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    draft_temperature: DraftTemperature = None,
    seed: Annotated[int, typer.Option(min=0, help="Of texts and draws.")] = 0,
    tail: Annotated[
        float | None,
        typer.Option(min=0, max=0.1, help="Mass that a row may lack. [default: 0 with --top-k, else 0.00001]"),
    ] = None,
    limit_bytes: Annotated[int, typer.Option(min=1, help="Most bytes of the folder.")] = 2_000_000_000,
    rounds: Annotated[
        bool, typer.Option("--rounds", help="Also record one round of every tree, as JSON for looking at.")
    ] = False,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object instead of a sentence.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Record contexts for 'univer replay'; exit status 1 if the limit was reached before the last prompt."""
    try:
        from univer.bench import load_prompts
        from univer.bench.compare import prepare
        from univer.bench.questions import choose
        from univer.bench.traces import TraceFolder, record
        from univer.cli.pair import load_pair
        from univer.cli.terminal import progress
        from univer.engine import Sampling
    except ModuleNotFoundError as error:
        raise ValueError(f"recording needs more packages: pip install 'univer[models]' ({error})") from error

    # What can be refused without a model is refused before one is loaded.
    filters = (top_k, top_p, min_p)
    sampling = Sampling(temperature, *filters)
    if sampling.greedy:
        raise ValueError("at temperature 0 every exact method keeps the same tokens: record above 0")
    draft_sampling = None if draft_temperature is None else Sampling(draft_temperature, *filters)
    rows = prepare(tree or ["2x5"], method).entries
    chosen = choose(load_prompts(prompts))[:count]

    pair = load_pair(
        target,
        draft,
        chosen,
        dtype,
        device,
        trust_remote_code=trust_remote_code,
        ignore_config=ignore_config,
        room=new_tokens + max(entry.policy.max_depth for _, entry in rows),
    )
    total = len(pair.prompts) * contexts * drafted * len({entry.growth for _, entry in rows})

    def estimate(size: int) -> None:
        if size > limit_bytes:
            print(
                f"univer: note: the trace may take {_megabytes(size)} and stops at {_megabytes(limit_bytes)}: "
                "--limit-bytes raises the limit, fewer prompts, contexts or methods or a larger --tail need less",
                file=sys.stderr,
            )

    interrupted = full = False
    with progress(quiet=as_json) as tell:
        try:
            full = record(
                output,
                pair.target,
                pair.draft,
                pair.prompts,
                rows,
                sampling=sampling,
                draft_sampling=draft_sampling,
                places=contexts,
                drafted=drafted,
                new_tokens=new_tokens,
                seed=seed,
                tail=tail,
                limit_bytes=limit_bytes,
                text_of=(lambda token: str(pair.tokenizer.decode([token]))) if rounds else None,
                generation_config=pair.generation_config,
                progress=lambda done: tell("drafted trees", done, total),
                estimate=estimate,
            ).full
        except KeyboardInterrupt:
            interrupted = True
    if not (output / "trace.json").exists():
        return 130
    folder = TraceFolder(output)
    finished = len(folder.finished)
    if as_json:
        found = {"path": str(output), "prompts": finished, "of": len(pair.prompts), "bytes": folder.size}
        typer.echo(json.dumps(found | {"full": full, "interrupted": interrupted}))
    else:
        ending = (
            "; interrupted: repeat the command to go on"
            if interrupted
            else f"; the next prompt does not fit {_megabytes(limit_bytes)}: repeat the command with a larger "
            "--limit-bytes to go on"
            if full
            else ""
        )
        typer.echo(f"{output}: {finished} of {len(pair.prompts)} prompts, {_megabytes(folder.size)}{ending}")
    return 130 if interrupted else 1 if full else 0


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
