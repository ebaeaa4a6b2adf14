"""`univer tune-skip`: which layers of a model to skip when it drafts for itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from univer.cli.options import AsJson, ModelOptions, Seed, prompt_option

if TYPE_CHECKING:
    from univer.tuning.skip_search import SkipSearch

__all__ = ["tune_skip"]

COLUMNS = ("skipped", "draft", "acceptance", "pass", "cost", "best chain", "speed-up")


def tune_skip(
    *,
    models: ModelOptions,
    prompts: Annotated[
        Path | None,
        prompt_option(
            help="Prompts to measure on: JSONL, or one prompt per line.",
            show_default="prompts that come with the package, in six task groups",
        ),
    ] = None,
    count: Annotated[int, prompt_option(min=1, help="Number of prompts.")] = 6,
    new_tokens: Annotated[int, prompt_option(min=2, help="Length of the answer to each prompt, in tokens.")] = 48,
    temperature: Annotated[float, typer.Option(help="Sampling temperature; must be above 0.")] = 1.0,
    most: Annotated[int, typer.Option(min=1, help="Largest number of layers to skip.")] = 6,
    beam: Annotated[
        int, typer.Option(min=1, help="Beam width of the search: sets kept for each number of skipped layers.")
    ] = 1,
    shortlist: Annotated[
        int,
        typer.Option(
            min=1, help="Number of layers to choose from: those that cost the least acceptance when skipped alone."
        ),
    ] = 12,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Find the layers to skip when a model drafts for itself; Ctrl-C prints the best found so far."""
    import torch

    from univer.cli.loading import load_target
    from univer.cli.terminal import print_json, progress
    from univer.engine import Sampling
    from univer.models.prompts import encode
    from univer.training.samples import sample_texts
    from univer.training.sources import read_prompts
    from univer.tuning.skip_search import SkipSearch, Text

    # What can be rejected without a model is rejected before one is loaded.
    sampling = Sampling(temperature)
    if sampling.greedy:
        raise ValueError("--temperature must be above 0 here: for greedy decoding use a low one, such as 0.2")
    chosen = read_prompts(prompts).prompts[:count]

    model, tokenizer = load_target(models)
    encoded = [encode(tokenizer, prompt)[0].tolist() for prompt in chosen]
    search: SkipSearch | None = None
    interrupted = False
    with progress(quiet=as_json) as report:
        try:
            report("texts", 0, len(encoded))
            generator = torch.Generator().manual_seed(seed)
            answers = sample_texts(model, encoded, new_tokens, generator, temperature).tolist()
            report("texts", len(encoded), len(encoded))
            texts = [Text((*given, *drawn), len(given)) for given, drawn in zip(encoded, answers, strict=True)]
            search = SkipSearch(model, texts, sampling.distributions, most, beam, shortlist)
            search.run(lambda done: report("skip sets", done, search.trials if search else done))
        except KeyboardInterrupt:
            interrupted = True
    settings = {
        "target": models.target,
        "prompts": len(chosen),
        "positions": len(chosen) * new_tokens,
        "temperature": temperature,
        "seed": seed,
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
    }
    if as_json:
        print_json(_as_dict(search, settings, interrupted))
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
    from univer.cli.terminal import print_lines, print_table

    chosen = search.chosen if search else None
    if search is None or chosen is None:
        print_lines("interrupted before the first set of layers was measured")
        return
    print_table(COLUMNS, [_row(entry.to_dict()) for entry in search.best])
    print_lines(
        f"{settings['target']}, {settings['dtype']} on {settings['device']}, temperature {settings['temperature']}, "
        f"{settings['positions']} positions of {settings['prompts']} texts, seed {settings['seed']}, "
        f"{len(search.found)} sets measured" + (" (interrupted: the best so far)" if interrupted else ""),
        f"use --draft {chosen.draft}",
    )
    if chosen.chain and chosen.chain[1] < 1:
        print_lines("a chain drafted this way is slower than plain decoding here: try a tree, or another draft")


def _row(entry: dict[str, Any]) -> list[str]:
    from univer.cli.terminal import number

    seconds = None if entry["cost"] is None else 1000 * entry["seconds"]
    return [
        str(len(entry["layers"])),
        entry["draft"],
        number(entry["acceptance"], ".3f"),
        f"{number(seconds, '.1f')} ms" if seconds is not None else "-",
        number(entry["cost"]),
        "-" if seconds is None else str(entry["chain"]),
        number(None if seconds is None else entry["ratio"]),
    ]
