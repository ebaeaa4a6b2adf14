"""`univer tune-skip`: which layers of a model to skip when it drafts for itself."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from univer.cli.options import Device, Dtype, Target, TrustRemoteCode
from univer.models.catalogue import DEFAULT_MODEL

if TYPE_CHECKING:
    from univer.tuning.skip_search import SkipSearch

__all__ = ["tune_skip"]

COLUMNS = ("skipped", "draft", "acceptance", "pass", "cost", "best chain", "ratio to plain")


def tune_skip(
    target: Target = DEFAULT_MODEL,
    prompts: Annotated[
        Path | None,
        typer.Option(help="Prompts to fit on: JSONL, or one a line. [default: our own for fitting, six kinds of task]"),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of prompts.")] = 6,
    new_tokens: Annotated[int, typer.Option(min=2, help="Tokens of each answer that is sampled.")] = 48,
    temperature: Annotated[float, typer.Option(help="Of samples and laws, above 0.")] = 1.0,
    most: Annotated[int, typer.Option(min=1, help="Most layers to skip.")] = 6,
    beam: Annotated[int, typer.Option(min=1, help="Sets of each size that are followed up.")] = 1,
    shortlist: Annotated[
        int, typer.Option(min=1, help="Layers considered after the first: those that are missed least alone.")
    ] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Of the samples.")] = 0,
    dtype: Dtype = None,
    device: Device = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object with everything measured instead of the table.")
    ] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Find the layers that a model can best do without as its own draft; Ctrl-C keeps the best so far."""
    try:
        import torch

        from univer.cli.terminal import progress
        from univer.engine import Sampling
        from univer.models import load
        from univer.models.prompts import encode
        from univer.training.samples import sample_texts
        from univer.training.sources import read_prompts
        from univer.tuning.skip_search import SkipSearch, Text
    except ModuleNotFoundError as error:
        raise ValueError(f"tuning needs more packages: pip install 'univer[models]' ({error})") from error

    # What can be refused without a model is refused before one is loaded.
    sampling = Sampling(temperature)
    if sampling.greedy:
        raise ValueError("laws are compared above temperature 0: for greedy decoding use a low one, such as 0.2")
    chosen = read_prompts(prompts).prompts[:count]

    model, tokenizer = load(target, dtype, device, trust_remote_code)
    encoded = [encode(tokenizer, prompt)[0].tolist() for prompt in chosen]
    search: SkipSearch | None = None
    interrupted = False
    with progress(quiet=as_json) as tell:
        try:
            tell("texts", 0, len(encoded))
            generator = torch.Generator().manual_seed(seed)
            answers = sample_texts(model, encoded, new_tokens, generator, temperature).tolist()
            tell("texts", len(encoded), len(encoded))
            texts = [Text((*given, *drawn), len(given)) for given, drawn in zip(encoded, answers, strict=True)]
            search = SkipSearch(model, texts, sampling.laws, most, beam, shortlist)
            search.run(lambda done: tell("skip sets", done, search.trials if search else done))
        except KeyboardInterrupt:
            interrupted = True
    settings = {
        "target": target,
        "prompts": len(chosen),
        "positions": len(chosen) * new_tokens,
        "temperature": temperature,
        "seed": seed,
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
    }
    if as_json:
        typer.echo(json.dumps(_as_dict(search, settings, interrupted), indent=1))
    else:
        _print(search, settings, interrupted)
    return 130 if interrupted else 0


def _as_dict(search: "SkipSearch | None", settings: dict[str, Any], interrupted: bool) -> dict[str, Any]:
    chosen = search.chosen if search else None
    found = search.found if search else []
    return settings | {
        "interrupted": interrupted,
        "draft": chosen.draft if chosen else None,
        "target_seconds": search.target_seconds if search else None,
        "best": [entry.to_dict() for entry in (search.best if search else [])],
        "measured": [{"draft": entry.draft, "acceptance": entry.overlap} for entry in found],
    }


def _print(search: "SkipSearch | None", settings: dict[str, Any], interrupted: bool) -> None:
    from univer.cli.terminal import print_table, standard_output

    console = standard_output()
    chosen = search.chosen if search else None
    if search is None or chosen is None:
        console.print("interrupted before the first layer was tried: nothing to show")
        return
    print_table(COLUMNS, [_row(entry.to_dict()) for entry in search.best])
    console.print(
        f"{settings['target']}, {settings['dtype']} on {settings['device']}, temperature {settings['temperature']}, "
        f"{settings['positions']} positions of {settings['prompts']} texts, seed {settings['seed']}, "
        f"{len(search.found)} sets measured" + (" (interrupted: the best so far)" if interrupted else ""),
        soft_wrap=True,
    )
    console.print(f"use --draft {chosen.draft}", soft_wrap=True)
    if chosen.chain and chosen.chain[1] < 1:
        console.print(
            "a chain of it is slower than plain decoding here: only a tree or another draft can pay", soft_wrap=True
        )


def _row(entry: dict[str, Any]) -> list[str]:
    timed = entry["cost"] is not None
    return [
        str(len(entry["layers"])),
        entry["draft"],
        f"{entry['acceptance']:.3f}",
        f"{1000 * entry['seconds']:.1f} ms" if timed else "-",
        f"{entry['cost']:.2f}" if timed else "-",
        str(entry["chain"]) if timed else "-",
        f"{entry['ratio']:.2f}" if timed else "-",
    ]
