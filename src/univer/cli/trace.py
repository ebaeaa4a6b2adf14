"""`univer trace`: record drafted trees with their distributions, to evaluate methods without the models."""

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
    output: Annotated[Path, typer.Argument(help="Folder of the trace; resumes an interrupted recording.")],
    target: Target = DEFAULT_MODEL,
    draft: Draft = None,
    tree: Trees = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Draft trees for this method, or method:order; may be given several times. [default: as for compare]"
        ),
    ] = None,
    prompts: Prompts = None,
    count: Annotated[int, typer.Option(min=1, help="Number of prompts, the task groups in turn.")] = 12,
    contexts: Contexts = 8,
    drafted: Drafted = 2,
    new_tokens: NewTokens = 64,
    temperature: Annotated[float, typer.Option(help="Above 0: at temperature 0 all exact methods agree.")] = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    draft_temperature: DraftTemperature = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the texts and the drafted trees.")] = 0,
    limit_bytes: Annotated[
        int,
        typer.Option(min=1, help="Largest size of the folder in bytes; --top-k keeps it small."),
    ] = 2_000_000_000,
    rounds: Annotated[
        bool, typer.Option("--rounds", help="Also record one round of every tree, as JSON to look at.")
    ] = False,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object instead of a sentence.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Record contexts for 'univer replay'.

    The exit status is 1 if the size limit was reached before the last prompt.
    """
    try:
        from univer.bench import ContextSettings, load_prompts, rows_for
        from univer.bench.questions import choose
        from univer.bench.rows import growths_of
        from univer.bench.traces import TraceFolder, record
        from univer.cli.pair import load_pair
        from univer.cli.terminal import progress
        from univer.engine import Sampling
    except ModuleNotFoundError as error:
        raise ValueError(f"recording needs more packages: pip install 'univer[models]' ({error})") from error

    # Options are checked before a model is loaded.
    filters = (top_k, top_p, min_p)
    sampling = Sampling(temperature, *filters)
    if sampling.greedy:
        raise ValueError("at temperature 0 every exact method keeps the same tokens: record above 0")
    draft_sampling = None if draft_temperature is None else Sampling(draft_temperature, *filters)
    rows = rows_for(tree or ["2x5"], method)
    chosen = choose(load_prompts(prompts))[:count]

    pair = load_pair(
        target,
        draft,
        chosen,
        dtype,
        device,
        trust_remote_code=trust_remote_code,
        ignore_config=ignore_config,
        room=new_tokens + max(row.policy.max_depth for row in rows),
    )
    total = len(pair.prompts) * contexts * drafted * len(growths_of(rows))

    def estimate(size: int) -> None:
        if size > limit_bytes:
            print(
                f"univer: note: the trace may grow to {_megabytes(size)} but stops at {_megabytes(limit_bytes)}: raise "
                "--limit-bytes, or record less with --top-k or fewer prompts, contexts or methods",
                file=sys.stderr,
            )

    interrupted = full = False
    with progress(quiet=as_json) as report:
        try:
            full = record(
                output,
                pair.target,
                pair.draft,
                pair.prompts,
                rows,
                ContextSettings(
                    sampling=sampling,
                    draft_sampling=draft_sampling,
                    places=contexts,
                    drafted=drafted,
                    new_tokens=new_tokens,
                    generation_config=pair.generation_config,
                ),
                seed=seed,
                limit_bytes=limit_bytes,
                text_of=(lambda token: str(pair.tokenizer.decode([token]))) if rounds else None,
                progress=lambda done: report("drafted trees", done, total),
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
        ending = ""
        if interrupted:
            ending = "; interrupted: repeat the command to resume"
        elif full:
            ending = (
                f"; the next prompt does not fit into {_megabytes(limit_bytes)}: repeat the command with a larger "
                "--limit-bytes to resume"
            )
        typer.echo(f"{output}: {finished} of {len(pair.prompts)} prompts, {_megabytes(folder.size)}{ending}")
    return 130 if interrupted else 1 if full else 0


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
