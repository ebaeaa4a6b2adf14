"""`univer tune`: the trees that give most tokens per second on this machine."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from univer.cli.options import (
    Device,
    Draft,
    DraftTemperature,
    Dtype,
    IgnoreConfig,
    MinP,
    Target,
    TopK,
    TopP,
    TrustRemoteCode,
)
from univer.cli.output import check_new_file
from univer.models.catalogue import DEFAULT_MODEL

__all__ = ["tune"]


def tune(
    target: Target = DEFAULT_MODEL,
    draft: Draft = None,
    method: Annotated[str, typer.Option(help="Verification method, see 'univer methods'.")] = "univer",
    order: Annotated[
        str | None, typer.Option(help="Order in which siblings are tested: drawn, sampled-first, descending, gain.")
    ] = None,
    temperature: Annotated[float, typer.Option(help="0 decodes greedily.")] = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    draft_temperature: DraftTemperature = None,
    prompts: Annotated[
        Path | None,
        typer.Option(help="JSONL with 'text' or 'turns'. [default: our own for fitting, six kinds of task]"),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of prompts to measure on.")] = 12,
    check: Annotated[int, typer.Option(min=0, help="Number of other prompts to check the forecast on.")] = 6,
    contexts: Annotated[int, typer.Option(min=1, help="Contexts per prompt.")] = 4,
    new_tokens: Annotated[int, typer.Option(min=2, help="Length of the texts.")] = 48,
    max_nodes: Annotated[int, typer.Option(min=1, help="Largest tree, the root left out.")] = 64,
    max_depth: Annotated[int, typer.Option(min=1, help="Deepest tree.")] = 8,
    width: Annotated[int, typer.Option(min=1, max=10, help="Most children of a node of a planned tree.")] = 6,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds timed for every size.")] = 5,
    output: Annotated[
        Path, typer.Option(help="File to write, for '--tuned'. An earlier result of 'univer tune' is replaced.")
    ] = Path("tuned.json"),
    seed: Annotated[int, typer.Option(min=0, help="Of texts, draws and turns.")] = 0,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the file's content instead of tables.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Choose the tree of most tokens per second: measure costs and acceptance here, plan, compare, check."""
    try:
        from univer.cli.config import generation_config
        from univer.cli.drafts import default_draft, make_draft
        from univer.cli.terminal import duration, progress
        from univer.cli.tune_tables import print_tuning
        from univer.couplings.order import ORDERS
        from univer.engine.drafts import as_draft
        from univer.engine.options import Options
        from univer.methods import resolve
        from univer.models import load
        from univer.tuning import TuneSettings, Tuning
        from univer.tuning.profile import is_profile
        from univer.tuning.prompts import split_prompts
    except ModuleNotFoundError as error:
        raise ValueError(f"tuning needs more packages: pip install 'univer[models]' ({error})") from error

    # What can be refused without a model is refused before one is loaded.
    if order is not None and order not in ORDERS:
        raise ValueError(f"unknown sibling order {order!r}; known are {', '.join(ORDERS)}")
    if prompts is not None and not prompts.exists():
        raise ValueError(f"there is no file {prompts}")
    options = Options(
        method=resolve(method),
        order=order,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        draft_temperature=draft_temperature,
    )
    if not is_profile(output):
        check_new_file(output)

    model, tokenizer = load(target, dtype, device, trust_remote_code)
    config = generation_config(model, ignore=ignore_config, greedy=options.sampling.greedy, applied=False)
    named = draft or default_draft(target, model)
    drafter = as_draft(make_draft(named, tokenizer, dtype, device, trust_remote_code), model)
    assert drafter is not None, "a name stands for a draft"
    settings = TuneSettings(
        replace(options, generation_config=config),
        max_nodes=max_nodes,
        max_depth=max_depth,
        width=width,
        contexts=contexts,
        new_tokens=new_tokens,
        repeats=repeats,
        seed=seed,
    )
    tuning = Tuning(model, drafter, settings, named, target)
    fit, held_out = split_prompts(
        prompts, model, tokenizer, count, check, max(new_tokens, 2 * max_depth) + max_depth + 2
    )

    def announce(seconds: float) -> None:
        if not as_json:
            typer.echo(f"tuning takes about {duration(seconds)} here; Ctrl-C ends it and keeps the figures", err=True)

    interrupted, saved = False, False
    try:
        with progress(quiet=as_json) as report:
            tuning.run(fit, held_out, report, announce)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        # Whatever ended the work, what was measured is not lost.
        profile = tuning.profile(interrupted)
        if tuning.costs is not None:
            saved = profile.save(output)
    if as_json:
        typer.echo(json.dumps(profile.to_dict(), indent=1))
    else:
        print_tuning(tuning, output, interrupted, saved)
    return 130 if interrupted else 0
