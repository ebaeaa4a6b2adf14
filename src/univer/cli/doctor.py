"""`univer doctor`: does a pair of target and draft work, before it is used?"""

import json
from typing import Annotated

import typer

from univer.cli.options import Device, Draft, Dtype, Target, TrustRemoteCode
from univer.models.catalogue import DEFAULT_MODEL

__all__ = ["doctor"]


def doctor(
    target: Target = DEFAULT_MODEL,
    draft: Draft = None,
    tree: Annotated[str | None, typer.Option(help="As for 'univer generate'.")] = None,
    new_tokens: Annotated[int, typer.Option(min=1, help="Length of the texts that are compared.")] = 32,
    float32: Annotated[
        bool, typer.Option(help="Compare in float32 as well, which needs memory for a copy of the target.")
    ] = True,
    dtype: Dtype = None,
    device: Device = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object instead of lines.")] = False,
    trust_remote_code: TrustRemoteCode = False,
) -> int:
    """Check a target and a draft before use; the exit status is 1 if something is wrong."""
    from univer.drafting.growth.parse import parse_tree

    policy = None if tree is None else parse_tree(tree)
    try:
        from univer.cli.drafts import default_draft, load_draft
        from univer.cli.terminal import progress
        from univer.doctor import examine
        from univer.models import load
    except ModuleNotFoundError as error:
        raise ValueError(f"the doctor needs more packages: pip install 'univer[models]' ({error})") from error
    model, tokenizer = load(target, dtype, device, trust_remote_code)
    chosen = draft or default_draft(target, model)
    drafter, draft_tokenizer = load_draft(chosen, dtype, device, trust_remote_code)
    with progress(quiet=as_json) as tell:
        report = examine(
            model,
            drafter,
            tokenizer=tokenizer,
            draft_tokenizer=draft_tokenizer,
            new_tokens=new_tokens,
            tree=policy,
            float32=float32,
            progress=tell,
        )
    typer.echo(json.dumps({"target": target, "draft": chosen} | report.to_dict(), indent=1) if as_json else str(report))
    return 0 if report.sound else 1
