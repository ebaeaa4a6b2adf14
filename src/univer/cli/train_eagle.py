"""`univer train-eagle`: trains an EAGLE head for a model, on the model's own samples or on given texts."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from univer.cli.options import Device, Dtype, Target, TrustRemoteCode
from univer.models.catalogue import DEFAULT_MODEL

if TYPE_CHECKING:
    from univer.training import TrainingResult

__all__ = ["train_eagle"]


def train_eagle(
    output: Annotated[Path, typer.Option(help="Folder of the run and, at the end, of the head.")],
    target: Target = DEFAULT_MODEL,
    text: Annotated[
        list[Path] | None,
        typer.Option(
            help="Train on this text instead of samples: plain, or JSONL with 'text', or 'prompt' and 'completion'; "
            "may be given several times."
        ),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(
            help="Prompts to sample answers to: JSONL, or one a line. [default: 480 prompts of six task groups]"
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Number of tokens to sample from the target.")] = 500_000,
    length: Annotated[int, typer.Option(min=4, help="Number of tokens per text.")] = 320,
    temperature: Annotated[float, typer.Option(help="Sampling temperature of the texts, above 0.")] = 1.0,
    steps: Annotated[int, typer.Option(min=1, help="Number of optimiser steps.")] = 2000,
    batch: Annotated[int, typer.Option(min=1, help="Number of texts per step.")] = 8,
    unroll: Annotated[int, typer.Option(min=1, help="Number of drafting steps that each position is trained for.")] = 4,
    draft_vocabulary: Annotated[
        int | None,
        typer.Option(min=1, help="Number of tokens that the head can propose. [default: 8192, or all]"),
    ] = None,
    variant: Annotated[int | None, typer.Option(help="3 for EAGLE-3, 1 for EAGLE and EAGLE-2. [default: 3]")] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="Hidden states that the head reads, such as 2,15,27. [default: a low, a middle, a high one]"),
    ] = None,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 2e-3,
    init: Annotated[Path | None, typer.Option(help="Directory of a head to start from.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of samples, first weights and order of texts.")] = 0,
    dtype: Dtype = None,
    device: Device = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end, and no progress.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Train an EAGLE head, a draft that reads its target's hidden states. The same command resumes a stopped run."""
    try:
        from univer.cli.terminal import progress, standard_output
        from univer.models import load
        from univer.models.precision import resolve_device, resolve_dtype
        from univer.training import TrainingInterrupted, TrainingRun, TrainingSettings
    except ModuleNotFoundError as error:
        raise ValueError(f"training needs more packages: pip install 'univer[models]' ({error})") from error

    # All checks that need no model come before one is loaded.
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
    resolve_dtype(dtype, resolve_device(device))
    name = Path(target).expanduser().resolve().name if Path(target).expanduser().is_dir() else target
    run = TrainingRun(output, name=name, texts=text or (), prompts=prompts, init=init, settings=settings)
    if run.finished is not None:
        print(f"the run in {output} is complete", file=sys.stderr)
        _print(run.finished, as_json)
        return 0

    model, tokenizer = load(target, dtype, device, trust_remote_code)

    def note(line: str) -> None:
        if not as_json:
            print(line, file=sys.stderr)

    with progress(quiet=as_json) as report:
        try:
            result = run.train(model, tokenizer, report, note)
        except TrainingInterrupted as stop:
            interruption: dict[str, Any] = {"stage": stop.stage, "done": stop.done, "total": stop.total}
            message = f"{str(stop).partition(';')[0]}; repeat the command to resume"
        else:
            interruption = {}
    if interruption:
        if as_json:
            typer.echo(json.dumps({"directory": str(output), "interrupted": True} | interruption, indent=1))
        else:
            standard_output().print(message, soft_wrap=True)
        return 130
    _print(result, as_json)
    return 0


def _layers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"--layers takes numbers separated by commas, such as 2,15,27, not {text!r}") from error


def _print(result: "TrainingResult", as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**result.to_dict(), "interrupted": False}, indent=1))
        return
    from univer.cli.terminal import print_table, standard_output

    rows = zip(result.acceptance, result.agreement, strict=True)
    cells = [[str(step), f"{a:.3f}", f"{b:.3f}"] for step, (a, b) in enumerate(rows, start=1)]
    print_table(("drafting step", "acceptance", "agreement"), cells)
    standard_output().print(
        f"{result.parameters / 1e6:.1f} million parameters, {result.steps} steps on {result.train_texts} texts of "
        f"{result.train_tokens} tokens, measured on {result.valid_texts} other texts. The head in {result.directory} "
        f"has the weights after step {result.best_step}, the best of all validations.",
        soft_wrap=True,
    )
