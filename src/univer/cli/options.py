"""The options of the command line, each declared once, in groups that commands take as one argument.

A command asks for a group by its type, `def doctor(*, models: PairOptions)`; `expanded` turns every field of the group
into an option of that name. The same names stand in `univer.generate`. Nothing here imports torch, so that `--help`
answers at once.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from univer.models.catalogue import DEFAULT_MODEL

__all__ = [
    "AsJson",
    "ContextOptions",
    "FilterOptions",
    "IgnoreConfig",
    "ModelOptions",
    "PairOptions",
    "Questions",
    "RunOutput",
    "SamplingOptions",
    "Seed",
    "Trees",
    "Tuned",
    "VerificationOptions",
    "expanded",
    "methods_option",
    "model_option",
    "named",
    "prompt_option",
    "sampling_option",
    "verification_option",
]

Given = TypeVar("Given", str | None, list[str] | None)

# Options by the heading under which help pages list them.
prompt_option = partial(typer.Option, rich_help_panel="Prompts")
model_option = partial(typer.Option, rich_help_panel="Models")
verification_option = partial(typer.Option, rich_help_panel="Drafting and verification")
sampling_option = partial(typer.Option, rich_help_panel="Sampling")


def named(given: Given) -> Given:
    """Reject an empty name, which is what a shell passes for a variable that is not set."""
    names = given if isinstance(given, list) else [] if given is None else [given]
    if not all(name.strip() for name in names):
        raise typer.BadParameter("the name is empty: leave the option out for the default")
    return given


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The target model, and how models are loaded."""

    target: Annotated[
        str,
        model_option(help="Target model: smollm2-135m, a directory, or an id of the Hugging Face hub (owner/model)."),
    ] = DEFAULT_MODEL
    dtype: Annotated[
        str | None,
        model_option(
            help="Number type of the weights: float32, bfloat16 or float16.",
            show_default="bfloat16 if the hardware computes in it, else float32",
        ),
    ] = None
    device: Annotated[
        str | None,
        model_option(
            help="Device that models run on: cpu, cuda, or one of several GPUs, as in cuda:1.",
            show_default="cuda if there is a GPU, else cpu",
        ),
    ] = None
    trust_remote_code: Annotated[
        bool,
        model_option(
            "--trust-remote-code", help="Run Python code that comes with a model. Only for sources you trust."
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class PairOptions(ModelOptions):
    """A target model and its draft."""

    draft: Annotated[
        str | None,
        model_option(
            help="What proposes tokens: eagle (an EAGLE head that comes with the package) or eagle=DIRECTORY; another "
            "model with the target's tokenizer; first=8 (the target's first 8 layers) or skip=16-18 (the target "
            "without these layers); lookup or automaton (guesses from the text itself), also joined to one of the "
            "others, as in skip=16-18+lookup.",
            show_default="the EAGLE head for this target if one comes with the package, else lookup",
            callback=named,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class VerificationOptions:
    """How drafted trees are built and verified."""

    method: Annotated[
        str | None,
        verification_option(
            help="Verification method; 'univer methods' lists and explains them.", show_default="univer"
        ),
    ] = None
    tree: Annotated[
        str | None,
        verification_option(
            help="Drafted tree. A fixed shape: 2x5 (two children per node, five levels), chain-5, eagle, or a JSON "
            "list of parents. Or one that grows where it pays: grow, eagle2, opt, with parameters as in "
            "grow:nodes=48,depth=6.",
            show_default="what the draft suggests, else 2x5; chain-5 for methods that verify chains",
        ),
    ] = None
    order: Annotated[
        Literal["drawn", "sampled-first", "descending", "gain"] | None,
        verification_option(
            help="Order in which siblings are tested. The text is exact in every order; how many tokens are accepted "
            "may differ.",
            show_default="the method's own",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TemperatureOption:
    """The temperature, which stands before the filters."""

    temperature: Annotated[
        float | None,
        sampling_option(
            help="Sampling temperature; 0 always takes the most likely token. Without this option and the three "
            "filters, the sampling is the one that the model recommends, which is shown with the figures.",
            show_default="1 with a filter, else as recommended",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """How probabilities are filtered before tokens are drawn."""

    top_k: Annotated[int | None, sampling_option(help="Sample from this many of the most likely tokens only.")] = None
    top_p: Annotated[
        float | None,
        sampling_option(help="Sample from the most likely tokens only, as many as reach this total probability."),
    ] = None
    min_p: Annotated[
        float | None,
        sampling_option(help="Sample only tokens with at least this fraction of the highest probability."),
    ] = None
    draft_temperature: Annotated[
        float | None, sampling_option(help="Temperature of the draft.", show_default="the target's")
    ] = None


@dataclass(frozen=True, kw_only=True)
class SamplingOptions(FilterOptions, TemperatureOption):
    """How the next token is drawn from the target; by default as the model recommends."""


IgnoreConfig = Annotated[
    bool,
    sampling_option(
        "--ignore-config",
        help="Ignore the model's generation configuration except for its special tokens. Needed where it asks for "
        "something that is not supported, such as beam search.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed: the same seed repeats the run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text and tables.")]
Tuned = Annotated[
    Path | None,
    verification_option(
        help="File written by 'univer tune': sets draft, method, tree and sampling where you do not give them."
    ),
]
Trees = Annotated[
    list[str] | None,
    verification_option(
        "--tree",
        help="Drafted tree, as in 'univer generate --help'. Repeat for several.",
        show_default="that of 'univer generate'",
    ),
]
Questions = Annotated[
    Path | None,
    prompt_option(
        help="JSONL file of prompts in the format of Spec-Bench.",
        show_default="36 prompts that come with the package, in six task groups",
    ),
]
RunOutput = Annotated[
    Path | None, typer.Option(help="Folder for records and summary; an interrupted run in it is resumed.")
]


def methods_option(default: str) -> Any:
    """The option `--method` of a command that measures several methods.

    Args:
        default: The default, in words.
    """
    return verification_option(
        "--method", help="Verification method, or method:order. Repeat for several.", show_default=default
    )


@dataclass(frozen=True, kw_only=True)
class ContextOptions:
    """The positions of texts at which trees are drafted, for commands that measure acceptance without generating."""

    prompts: Questions = None
    count: Annotated[int, prompt_option(min=1, help="Number of prompts, the task groups in turn.")] = 12
    contexts: Annotated[int, prompt_option(min=1, help="Positions measured in the answer to each prompt.")] = 8
    drafted: Annotated[
        int, verification_option(min=1, help="Trees drafted at each position for every sampling scheme.")
    ] = 2
    new_tokens: Annotated[int, prompt_option(min=2, help="Length of the answer to each prompt, in tokens.")] = 64
    temperature: Annotated[
        float | None,
        sampling_option(
            help="Sampling temperature; must be above 0, since at 0 all exact methods accept the same tokens.",
            show_default="1",
        ),
    ] = None


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command one parameter for every option, in place of the groups that its signature names.

    Args:
        command: A function; an argument whose type is a dataclass stands for the options that are its fields.

    Returns:
        A function with the options as parameters, which calls the command with the groups.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint) and isinstance(hint, type)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))
            continue
        types = get_type_hints(groups[name], include_extras=True)
        parameters += [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.default is MISSING else field.default,
                annotation=types[field.name],
            )
            for field in fields(groups[name])
        ]

    @wraps(command)
    def run(**given: Any) -> Any:
        built = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        return command(**built, **given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
