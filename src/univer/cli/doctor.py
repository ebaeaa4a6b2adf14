"""`univer doctor`: does a pair of target and draft work, before it is used?"""

from typing import Annotated

import typer

from univer.cli.options import AsJson, PairOptions

__all__ = ["doctor"]


def doctor(
    *,
    models: PairOptions,
    tree: Annotated[
        str | None,
        typer.Option(help="Drafted tree, as in 'univer generate --help'.", show_default="that of 'univer generate'"),
    ] = None,
    new_tokens: Annotated[int, typer.Option(min=1, help="Length of the texts that are compared, in tokens.")] = 32,
    float32: Annotated[
        bool,
        typer.Option(
            "--float32/--no-float32",
            help="Compare texts in float32 as well, where they must agree token for token. Needs memory for a second "
            "copy of the target.",
        ),
    ] = True,
    as_json: AsJson = False,
) -> int:
    """Check a target and a draft before you use them; exit status 1 if something is wrong."""
    from univer.drafting.growth.parse import parse_tree

    # What can be rejected without a model is rejected before one is loaded.
    policy = None if tree is None else parse_tree(tree)

    from univer.cli.loading import load_draft, load_target
    from univer.cli.terminal import print_json, print_lines, progress
    from univer.doctor import examine

    target, tokenizer = load_target(models)
    draft, draft_tokenizer, named = load_draft(models, target)
    with progress(quiet=as_json) as report_progress:
        report = examine(
            target,
            draft,
            tokenizer=tokenizer,
            draft_tokenizer=draft_tokenizer,
            new_tokens=new_tokens,
            tree=policy,
            float32=float32,
            progress=report_progress,
        )
    if as_json:
        print_json({"target": models.target, "draft": named} | report.to_dict())
    else:
        print_lines(str(report))
    return 0 if report.sound else 1
