"""`univer generate`: text from a model with a draft, as it comes, and the figures of the run."""

import json
import secrets
from pathlib import Path
from typing import Annotated

import typer

from univer.cli.options import Device, DraftTemperature, Dtype, IgnoreConfig, MinP, Target, TopK, TopP, TrustRemoteCode
from univer.models.catalogue import DEFAULT_MODEL

__all__ = ["generate"]


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
            help="eagle=DIRECTORY (an EAGLE head), or eagle for one that comes with the package; lookup; skip=16-18 "
            "(the target without these layers); first=8 (its first layers); or a model with the target's tokenizer. "
            "[default: a head for this target that comes with the package; else skip=16-18 for the default model, "
            "lookup for others]"
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="Verification method, see 'univer methods'.")] = "univer",
    tree: Annotated[
        str | None,
        typer.Option(
            help="2x5, chain-5, eagle, or a JSON list of parents or choices. [default: 2x5, for chain methods chain-5]"
        ),
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Order in which siblings are tested: drawn, sampled-first, descending, gain.")
    ] = None,
    temperature: Annotated[float, typer.Option(help="0 decodes greedily.")] = 1.0,
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
    chosen = resolve(method)
    if order is not None and order not in ORDERS:
        raise ValueError(f"unknown sibling order {order!r}; known are {', '.join(ORDERS)}")
    shape = _tree(tree or ("chain-5" if chosen.draft_law == "chain" else "2x5"))
    parse_tree(shape)
    try:
        from univer.cli.config import generation_config
        from univer.cli.drafts import default_draft, make_draft
        from univer.cli.run import run
        from univer.engine import Sampling
        from univer.models import load
    except ModuleNotFoundError as error:
        raise ValueError(f"generating needs more packages: pip install 'univer[models]' ({error})") from error
    sampling = Sampling(temperature, top_k, top_p, min_p)

    model, tokenizer = load(target, dtype, device, trust_remote_code)
    config = generation_config(model, ignore=ignore_config, greedy=sampling.greedy)
    drafter = make_draft(draft or default_draft(target, model), tokenizer, dtype, device, trust_remote_code)
    outcome = run(
        model,
        drafter,
        tokenizer,
        encode_prompt(tokenizer, text, chat).to(model.device),
        show_text=not as_json,
        baseline=baseline,
        seed=secrets.randbits(31) if seed is None else seed,
        method=chosen,
        tree=shape,
        order=order,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        draft_temperature=draft_temperature,
        max_new_tokens=max_new_tokens,
        generation_config=config,
    )
    if as_json:
        typer.echo(json.dumps({"prompt": text} | outcome.to_dict(), indent=2))
    else:
        outcome.print_figures()
    return 130 if outcome.interrupted else 0


def _tree(text: str) -> str | list[int] | list[list[int]]:
    if not text.startswith("["):
        return text
    try:
        found: list[int] | list[list[int]] = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--tree {text!r} is not a JSON list: {error}") from error
    return found
