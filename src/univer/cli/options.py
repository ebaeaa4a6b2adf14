"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, TypeVar

import typer

Given = TypeVar("Given", str | None, list[str] | None)

__all__ = [
    "Contexts",
    "Device",
    "Draft",
    "DraftTemperature",
    "Drafted",
    "Dtype",
    "IgnoreConfig",
    "MinP",
    "NewTokens",
    "Prompts",
    "Target",
    "TopK",
    "TopP",
    "Trees",
    "TrustRemoteCode",
    "named",
]


def named(given: Given) -> Given:
    """Refuse an empty name, as a variable of the shell gives it that is not set."""
    names = given if isinstance(given, list) else [] if given is None else [given]
    if not all(name.strip() for name in names):
        raise typer.BadParameter("the name is empty: leave the option out for the default")
    return given


Target = Annotated[str, typer.Option(help="Target model: smollm2-135m, a directory, or a hub id.")]
Draft = Annotated[str | None, typer.Option(help="As for 'univer generate'. [default: as there]", callback=named)]
TopK = Annotated[int | None, typer.Option(help="Keep so many most likely tokens.")]
TopP = Annotated[float | None, typer.Option(help="Keep the most likely tokens up to this mass.")]
MinP = Annotated[float | None, typer.Option(help="Keep tokens of this fraction of the largest probability.")]
DraftTemperature = Annotated[float | None, typer.Option(help="Of the draft. [default: the target's]")]
Dtype = Annotated[str | None, typer.Option(help="float32, bfloat16 or float16. [default: what is fast here]")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1. [default: cuda where there is one]")]
IgnoreConfig = Annotated[
    bool,
    typer.Option(
        "--ignore-config",
        help="Go without the settings of the model's generation configuration, all but its special ids, where one is "
        "not supported, such as beam search.",
    ),
]
TrustRemoteCode = Annotated[bool, typer.Option(help="Run Python code that comes with a model.")]
Trees = Annotated[
    list[str] | None, typer.Option(help="A tree, as generate takes it; may be given several times. [default: 2x5]")
]
Prompts = Annotated[
    Path | None,
    typer.Option(help="JSONL in the format of Spec-Bench. [default: our own 36 prompts, six kinds of task]"),
]
Contexts = Annotated[int, typer.Option(min=1, help="Contexts per prompt.")]
Drafted = Annotated[int, typer.Option(min=1, help="Drafted trees per context and draft law.")]
NewTokens = Annotated[int, typer.Option(min=2, help="Length of the text that contexts are taken from.")]
