"""`univer trace`: record drafted trees with their distributions, to evaluate methods without the models."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from univer.cli.options import (
    AsJson,
    ContextOptions,
    FilterOptions,
    IgnoreConfig,
    PairOptions,
    Seed,
    Trees,
    methods_option,
)

__all__ = ["trace"]


def trace(
    *,
    output: Annotated[Path, typer.Argument(help="Folder of the trace; an interrupted recording in it is resumed.")],
    models: PairOptions,
    tree: Trees = None,
    method: Annotated[list[str] | None, methods_option("as for 'univer compare'")] = None,
    contexts: ContextOptions,
    filters: FilterOptions,
    ignore_config: IgnoreConfig = False,
    seed: Seed = 0,
    limit_bytes: Annotated[
        int, typer.Option(min=1, help="Largest size of the folder in bytes; --top-k keeps it small.")
    ] = 2_000_000_000,
    rounds: Annotated[
        bool, typer.Option("--rounds", help="Also record one round of every tree, as JSON to look at.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Record drafted trees with their probabilities for 'univer replay', which needs no models.

    The exit status is 1 if the size limit was reached before the last prompt.
    """
    from univer.bench import load_prompts, rows_for
    from univer.bench.questions import choose
    from univer.bench.rows import default_trees, growths_of
    from univer.bench.traces import TraceFolder, record
    from univer.cli.loading import load_pair, note, with_prompts
    from univer.cli.measured import context_settings
    from univer.cli.terminal import progress

    # Options are checked before a model is loaded.
    sampled = context_settings(contexts, asdict(filters) | {"temperature": contexts.temperature})
    rows = rows_for(tree, method) if tree else []
    chosen = choose(load_prompts(contexts.prompts))[: contexts.count]
    TraceFolder.check(output, "trace")

    pair = load_pair(models)
    rows = rows or rows_for(default_trees(pair.draft, method), method)
    room = contexts.new_tokens + max(row.policy.max_depth for row in rows)
    pair = with_prompts(pair, chosen, room, ignore_config=ignore_config)
    total = len(pair.prompts) * contexts.contexts * contexts.drafted * len(growths_of(rows))

    def estimate(size: int) -> None:
        if size > limit_bytes:
            note(
                f"the trace may grow to {_megabytes(size)} but stops at {_megabytes(limit_bytes)}: raise "
                "--limit-bytes, or record less with --top-k or fewer prompts, contexts or methods"
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
                replace(sampled, generation_config=pair.generation_config),
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
