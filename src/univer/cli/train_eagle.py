"""`univer train-eagle`: trains an EAGLE head for a model, on the model's own samples or on given texts."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from univer.cli.options import AsJson, ModelOptions, Seed, prompt_option

if TYPE_CHECKING:
    from univer.training import TrainingResult

__all__ = ["train_eagle"]

_head = partial(typer.Option, rich_help_panel="The head")


def train_eagle(
    *,
    output: Annotated[Path, typer.Option(help="Folder of the training run, and of the finished head.")],
    models: ModelOptions,
    text: Annotated[
        list[Path] | None,
        prompt_option(
            help="Train on this file instead of texts that the target writes: plain text, or JSONL with 'text', or "
            "with 'prompt' and 'completion'. Repeat for several."
        ),
    ] = None,
    prompts: Annotated[
        Path | None,
        prompt_option(
            help="Prompts that the target answers: JSONL, or one prompt per line.",
            show_default="prompts that come with the package, in six task groups",
        ),
    ] = None,
    samples: Annotated[int, prompt_option(min=1, help="Tokens that the target writes to train on.")] = 500_000,
    length: Annotated[int, prompt_option(min=4, help="Length of each training text, in tokens.")] = 320,
    temperature: Annotated[
        float,
        prompt_option(help="Temperature at which the target writes these texts; must be above 0."),
    ] = 1.0,
    variant: Annotated[
        int | None,
        _head(help="Architecture: 3 for EAGLE-3, 1 for EAGLE and EAGLE-2.", show_default="3"),
    ] = None,
    layers: Annotated[
        str | None,
        _head(
            help="Layers of the target whose inputs the head reads, as in 2,15,27.",
            show_default="a low, a middle and a high one",
        ),
    ] = None,
    draft_vocabulary: Annotated[
        int | None,
        _head(
            min=1,
            help="Number of tokens that the head can propose: the most frequent ones.",
            show_default="8192, or fewer for a small vocabulary",
        ),
    ] = None,
    init: Annotated[Path | None, _head(help="Directory of a head to start from.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Optimiser steps.")] = 2000,
    batch: Annotated[int, typer.Option(min=1, help="Texts in each step.")] = 8,
    unroll: Annotated[
        int, typer.Option(min=1, help="Number of successive tokens that the head learns to draft at each position.")
    ] = 4,
    learning_rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 2e-3,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Train an EAGLE head, a small draft that reads the target's hidden states; repeat the command to resume."""
    from univer.cli.loading import load_target
    from univer.cli.terminal import print_json, print_lines, progress
    from univer.models.precision import resolve_device, resolve_dtype
    from univer.training import TrainingInterrupted, TrainingRun, TrainingSettings

    # What can be rejected without a model is rejected before one is loaded.
    settings = TrainingSettings(
        samples=samples,
        length=length,
        temperature=temperature,
        steps=steps,
        batch=batch,
        unroll=unroll,
        learning_rate=learning_rate,
        variant=variant,
        draft_vocabulary=draft_vocabulary,
        layers=_layers(layers),
        seed=seed,
    )
    resolve_dtype(models.dtype, resolve_device(models.device))
    directory = Path(models.target).expanduser()
    name = directory.resolve().name if directory.is_dir() else models.target
    run = TrainingRun(output, name=name, texts=text or (), prompts=prompts, init=init, settings=settings)
    if run.finished is not None:
        print(f"the run in {output} is complete", file=sys.stderr)
        _print(run.finished, as_json)
        return 0

    model, tokenizer = load_target(models)

    def note(line: str) -> None:
        if not as_json:
            print(line, file=sys.stderr)

    with progress(quiet=as_json) as report:
        try:
            result = run.train(model, tokenizer, report, note)
        except TrainingInterrupted as stop:
            interruption = {"stage": stop.stage, "done": stop.done, "total": stop.total}
            message = f"{str(stop).partition(';')[0]}; repeat the command to resume"
        else:
            interruption = {}
    if not interruption:
        _print(result, as_json)
        return 0
    if as_json:
        print_json({"directory": str(output), "interrupted": True} | interruption)
    else:
        print_lines(message)
    return 130


def _layers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"--layers takes numbers separated by commas, such as 2,15,27, not {text!r}") from error


def _print(result: "TrainingResult", as_json: bool) -> None:
    from univer.cli.terminal import number, print_json, print_lines, print_table

    if as_json:
        print_json({**result.to_dict(), "interrupted": False})
        return
    rows = enumerate(zip(result.acceptance, result.agreement, strict=True), start=1)
    cells = [[str(step), number(acceptance, ".3f"), number(agreement, ".3f")] for step, (acceptance, agreement) in rows]
    print_table(("drafting step", "acceptance", "agreement"), cells)
    print_lines(
        f"{result.parameters / 1e6:.1f} million parameters, {result.steps} steps on {result.train_texts} texts of "
        f"{result.train_tokens} tokens, measured on {result.valid_texts} other texts. The head in {result.directory} "
        f"has the weights after step {result.best_step}, the best of all validations."
    )
