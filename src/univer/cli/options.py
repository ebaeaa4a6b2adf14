"""Options that several commands share."""

from typing import Annotated, TypeVar

import typer

Given = TypeVar("Given", str | None, list[str] | None)

__all__ = [
    "Device",
    "Draft",
    "DraftTemperature",
    "Dtype",
    "IgnoreConfig",
    "MinP",
    "Target",
    "TopK",
    "TopP",
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
