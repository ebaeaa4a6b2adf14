"""`univer generate`: text from a model with a draft, as it comes, and the figures of the run."""

import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from univer.cli.options import (
    AsJson,
    IgnoreConfig,
    PairOptions,
    SamplingOptions,
    Tuned,
    VerificationOptions,
    prompt_option,
    sampling_option,
)
from univer.models.catalogue import SAMPLING

if TYPE_CHECKING:
    from univer.engine import GenerationStats

__all__ = ["generate"]


def generate(
    *,
    prompt: Annotated[
        str | None, typer.Argument(help="The prompt. '-' reads it from standard input.", show_default=False)
    ] = None,
    prompt_file: Annotated[Path | None, prompt_option(help="Read the prompt from this UTF-8 file.")] = None,
    prompts: Annotated[
        Path | None,
        prompt_option(
            help="Answer every prompt of this file, one after another: one prompt per line, or JSONL (*.jsonl) with "
            "'text', or with 'turns' for a conversation."
        ),
    ] = None,
    system: Annotated[str | None, prompt_option(help="System message that comes before the prompt.")] = None,
    turn: Annotated[
        list[str] | None,
        prompt_option(help="What the user says next, once the previous message is answered. Repeat for more turns."),
    ] = None,
    chat: Annotated[
        bool | None,
        prompt_option(
            "--chat/--raw",
            help="Wrap the prompt in the model's chat template, or pass it on as it is.",
            show_default="chat if the model has a template",
        ),
    ] = None,
    models: PairOptions,
    verification: VerificationOptions,
    tuned: Tuned = None,
    sampling: SamplingOptions,
    repetition_penalty: Annotated[
        float | None,
        sampling_option(
            help="Above 1 makes tokens that occurred already less likely.",
            show_default="the model's recommendation, else 1",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        sampling_option(
            min=0,
            help="Random seed: the same seed repeats the text.",
            show_default="chosen at random and shown with the figures",
        ),
    ] = None,
    ignore_config: IgnoreConfig = False,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of an answer.")] = 128,
    stop: Annotated[
        list[str] | None, typer.Option(help="Stop as soon as the answer contains this text. Repeat for several.")
    ] = None,
    compare_plain: Annotated[
        bool,
        typer.Option(
            "--compare-plain", help="Time plain decoding as well, in alternation, and print the speed-up over it."
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the text only, without figures.")] = False,
    as_json: AsJson = False,
) -> int:
    """Generate text with a draft and a lossless verification method.

    The text has the same probability distribution as sampling from the target model alone.
    """
    from univer.cli.prompt import read_prompt, read_prompts

    # What can be rejected without a model is rejected before one is downloaded.
    if prompts is not None and (prompt is not None or prompt_file is not None or turn):
        raise ValueError("--prompts brings all prompts: leave out the prompt, --prompt-file and --turn")
    conversations = read_prompts(prompts) if prompts else [[read_prompt(prompt, prompt_file), *(turn or ())]]

    from univer.cli.loading import generation_config, load_pair, note_differences, with_recommended, with_tuned
    from univer.cli.prompt import with_template
    from univer.cli.run import compare_with_plain, converse, print_figures
    from univer.cli.terminal import print_json, standard_output
    from univer.drafting.growth.parse import parse_tree
    from univer.engine.options import Options
    from univer.engine.stats import merged
    from univer.methods import resolve

    profile, given = with_tuned(tuned, asdict(verification) | asdict(sampling) | {"draft": models.draft})
    named = given.pop("draft")
    given["method"] = resolve(given["method"] or "univer")
    given["tree"] = profile.policy if profile else parse_tree(verification.tree) if verification.tree else None
    given |= {"seed": seed, "max_new_tokens": max_new_tokens}
    Options(**{name: value for name, value in given.items() if value is not None})

    pair = load_pair(replace(models, draft=named))
    chat = with_template(pair.tokenizer, chat, bool(system) or any(len(turns) > 1 for turns in conversations))
    options, recommended = with_recommended(given, models.target, pair.target)
    greedy = options["temperature"] == 0
    options["generation_config"] = generation_config(pair.target, ignore=ignore_config, greedy=greedy)
    if seed is None and not greedy:
        options["seed"] = secrets.randbits(31)
    if repetition_penalty is not None:
        options["repetition_penalty"] = repetition_penalty
    if stop:
        options["stop_strings"] = stop
    if profile is not None and tuned is not None:
        profile.check(pair.target, pair.draft.name, options["method"].name)
        note_differences(profile, tuned, pair.target, {name: options[name] for name in SAMPLING})

    console = standard_output()
    outcomes = converse(pair, conversations, system, options, chat=chat, console=None if as_json else console)
    last = outcomes[-1]
    interrupted, comparison = last.interrupted, None
    if compare_plain and last.tokens and not interrupted:
        try:
            comparison = compare_with_plain(pair, last.input_ids, len(last.tokens), options)
        except KeyboardInterrupt:
            interrupted = True
    stats = last.stats if len(outcomes) == 1 else merged([outcome.stats for outcome in outcomes])
    predicted = profile.speed(stats.prompt_tokens, stats.new_tokens) if profile and stats.new_tokens else None
    if as_json:
        answers = [outcome.to_dict() for outcome in outcomes]
        request = {
            "seed": options["seed"],
            "sampling": {name: options[name] for name in SAMPLING} | {"recommended": recommended},
            "compare_plain": comparison.to_dict() if comparison else None,
        }
        request |= {"tuned": str(tuned), "predicted_tokens_per_second": predicted} if profile else {}
        print_json((answers[0] if len(answers) == 1 else {"answers": answers}) | request)
    elif not quiet:
        rows = _settings(stats, pair.target, options, recommended=recommended)
        more = comparison.rows() if comparison else []
        if predicted is not None:
            more.append(("predicted", f"{predicted:.1f} tokens/s for this length, by {tuned}"))
        print_figures(console, rows, stats, last.ending if len(outcomes) == 1 else "", more)
    return 130 if interrupted else 0


def _settings(
    stats: "GenerationStats", target: Any, options: dict[str, Any], *, recommended: bool
) -> list[tuple[str, str]]:
    """The request, for a person."""
    parts = [f"method {stats.method}", f"draft {stats.draft}", f"tree {stats.tree}"]
    parts += [f"order {options['order']}"] if options["order"] else []
    parts += [str(target.dtype).removeprefix("torch."), str(target.device)]
    sampling = [f"{name} {options[name]}" for name in SAMPLING if options[name] is not None]
    if options["temperature"] == 0:
        sampling = ["temperature 0: the most likely token each time"]
    elif options["seed"] is not None:
        sampling.append(f"seed {options['seed']}")
    note = " (recommended for this model)" if recommended else ""
    return [("setting", ", ".join(parts)), ("sampling", ", ".join(sampling) + note)]
