"""`univer generate`: text from a model with a draft, as it comes, and the figures of the run."""

import json
import secrets
from pathlib import Path
from typing import Annotated

import typer

from univer.cli.options import (
    Device,
    DraftTemperature,
    Dtype,
    IgnoreConfig,
    MinP,
    Target,
    TopK,
    TopP,
    TrustRemoteCode,
    named,
)
from univer.cli.tuned import Tuned, note_differences, with_tuned
from univer.models.catalogue import DEFAULT_MODEL

__all__ = ["generate"]

SAMPLING = ("temperature", "top_k", "top_p", "min_p")


def generate(
    prompt: Annotated[str | None, typer.Argument(help="The prompt; '-' or nothing reads standard input.")] = None,
    prompt_file: Annotated[Path | None, typer.Option(help="Read the prompt from a UTF-8 file.")] = None,
    chat: Annotated[
        bool | None,
        typer.Option(
            "--chat/--raw", help="Use the chat template, or the prompt as it is. [default: chat if it exists]"
        ),
    ] = None,
    target: Target = DEFAULT_MODEL,
    draft: Annotated[
        str | None,
        typer.Option(
            help="eagle=DIRECTORY (an EAGLE head), or eagle for one that comes with the package; skip=16-18 "
            "(the target without these layers); first=8 (its first layers); a model with the target's tokenizer; "
            "lookup or automaton (guesses from the text itself), also beside one of these: skip=16-18+lookup. "
            "[default: a head for this target that comes with the package, else lookup]",
            callback=named,
        ),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Verification method, see 'univer methods'. [default: univer]")
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            help="2x5, chain-5, eagle, or a JSON list of parents or choices; or trees that grow: grow, eagle2, opt, "
            "with parameters as in grow:nodes=48,depth=6. [default: what a head suggests, else 2x5; for chain methods "
            "chain-5]"
        ),
    ] = None,
    tuned: Tuned = None,
    order: Annotated[
        str | None, typer.Option(help="Order in which siblings are tested: drawn, sampled-first, descending, gain.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="0 decodes greedily. [default: 1]")] = None,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    draft_temperature: DraftTemperature = None,
    max_new_tokens: Annotated[int, typer.Option(min=0, help="Length limit of the answer.")] = 128,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Makes the run reproducible. [default: drawn and printed]")
    ] = None,
    dtype: Dtype = None,
    device: Device = None,
    ignore_config: IgnoreConfig = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object at the end instead of the text.")] = False,
    baseline: Annotated[bool, typer.Option(help="Measure plain decoding afterwards, for the ratio.")] = True,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Generate text with a draft and a lossless verification method."""
    from univer.cli.prompt import encode_prompt, read_prompt
    from univer.couplings.order import ORDERS
    from univer.drafting.growth.parse import parse_tree
    from univer.methods import resolve

    # What can be refused without a model is refused before one is downloaded.
    text = read_prompt(prompt, prompt_file)
    profile, options = with_tuned(
        tuned,
        tree,
        draft=draft,
        method=method,
        order=order,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        draft_temperature=draft_temperature,
    )
    draft = options.pop("draft")
    options["temperature"] = 1.0 if options["temperature"] is None else options["temperature"]
    options["method"] = chosen = resolve(options["method"] or "univer")
    order = options["order"]
    if order is not None and order not in ORDERS:
        raise ValueError(f"unknown sibling order {order!r}; known are {', '.join(ORDERS)}")
    policy = profile.policy if profile else (parse_tree(tree) if tree else None)
    try:
        from univer.cli.config import generation_config
        from univer.cli.drafts import default_draft, make_draft
        from univer.cli.run import run
        from univer.engine import Sampling
        from univer.engine.drafts import as_draft
        from univer.models import load
    except ModuleNotFoundError as error:
        raise ValueError(f"generating needs more packages: pip install 'univer[models]' ({error})") from error
    sampling = Sampling(*(options[name] for name in SAMPLING))

    model, tokenizer = load(target, dtype, device, trust_remote_code)
    config = generation_config(model, ignore=ignore_config, greedy=sampling.greedy)
    drafter = make_draft(draft or default_draft(target, model), tokenizer, dtype, device, trust_remote_code)
    if profile is not None and tuned is not None:
        named = as_draft(drafter, model)
        profile.check(model, named.name if named else "none", chosen.name)
        note_differences(profile, tuned, model, {name: options[name] for name in SAMPLING})
    outcome = run(
        model,
        drafter,
        tokenizer,
        encode_prompt(tokenizer, text, chat).to(model.device),
        show_text=not as_json,
        baseline=baseline,
        seed=secrets.randbits(31) if seed is None else seed,
        tree=policy,
        **options,
        max_new_tokens=max_new_tokens,
        generation_config=config,
    )
    stats = outcome.stats
    predicted = profile.speed(stats.prompt_tokens, stats.new_tokens) if profile and stats.new_tokens else None
    if as_json:
        found = {"prompt": text} | outcome.to_dict()
        if profile is not None:
            found |= {"tuned": str(tuned), "predicted_tokens_per_second": predicted}
        typer.echo(json.dumps(found, indent=2))
    else:
        outcome.print_figures()
        if predicted is not None:
            typer.echo(f"predicted        {predicted:.1f} tokens/s for this length, by {tuned}")
    return 130 if outcome.interrupted else 0
