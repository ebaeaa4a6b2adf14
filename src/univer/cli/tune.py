"""`univer tune`: the trees that give most tokens per second on this machine."""

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from univer.cli.options import AsJson, IgnoreConfig, PairOptions, SamplingOptions, Seed, prompt_option

if TYPE_CHECKING:
    from univer.tuning import Tuning

__all__ = ["tune"]

_trees = partial(typer.Option, rich_help_panel="Trees")
CANDIDATES = ("tree", "from", "nodes", "tokens a round", "ms a round", "tokens/s", "speed-up")
# Planned trees are long lists; the file holds them whole.
LONGEST_TREE = 48


def tune(
    *,
    models: PairOptions,
    method: Annotated[
        str, typer.Option(help="Verification method; 'univer methods' lists and explains them.")
    ] = "univer",
    order: Annotated[
        Literal["drawn", "sampled-first", "descending", "gain"] | None,
        typer.Option(help="Order in which siblings are tested.", show_default="the method's own"),
    ] = None,
    sampling: SamplingOptions,
    ignore_config: IgnoreConfig = False,
    prompts: Annotated[
        Path | None,
        prompt_option(
            help="Prompts to measure on: JSONL with 'text' or 'turns'.",
            show_default="prompts that come with the package, in six task groups",
        ),
    ] = None,
    count: Annotated[int, prompt_option(min=1, help="Number of prompts to measure on.")] = 12,
    check: Annotated[int, prompt_option(min=0, help="Number of other prompts to check the forecast on.")] = 6,
    contexts: Annotated[int, prompt_option(min=1, help="Positions measured in the answer to each prompt.")] = 4,
    new_tokens: Annotated[int, prompt_option(min=2, help="Length of the answer to each prompt, in tokens.")] = 48,
    max_nodes: Annotated[int, _trees(min=1, help="Most drafted tokens of a tree.")] = 64,
    max_depth: Annotated[int, _trees(min=1, help="Most levels of a tree.")] = 8,
    width: Annotated[int, _trees(min=1, max=10, help="Most children of a node of a planned tree.")] = 6,
    repeats: Annotated[int, _trees(min=1, help="Rounds timed for each size of tree.")] = 5,
    output: Annotated[
        Path, typer.Option(help="File to write, for 'univer generate --tuned'. An earlier one is replaced.")
    ] = Path("tuned.json"),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Find the tree with the most tokens per second on this machine, and write it to a file for --tuned.

    It times the models, measures how often drafted tokens are accepted, compares the trees that promise most with plain
    decoding, and checks its forecast on other prompts.
    """
    from univer.cli.loading import generation_config, load_pair, with_recommended
    from univer.cli.terminal import check_new_file, duration, print_json, progress
    from univer.engine.options import Options
    from univer.methods import resolve
    from univer.tuning import TuneSettings, Tuning
    from univer.tuning.profile import is_profile
    from univer.tuning.prompts import split_prompts

    # What can be rejected without a model is rejected before one is loaded.
    if prompts is not None and not prompts.exists():
        raise ValueError(f"there is no file {prompts}")
    given = asdict(sampling) | {"method": resolve(method), "order": order}
    Options(**{name: value for name, value in given.items() if value is not None})
    if not is_profile(output):
        check_new_file(output)

    pair = load_pair(models)
    given, _ = with_recommended(given, models.target, pair.target)
    config = generation_config(pair.target, ignore=ignore_config, greedy=given["temperature"] == 0, applied=False)
    settings = TuneSettings(
        Options(**given, generation_config=config),
        max_nodes=max_nodes,
        max_depth=max_depth,
        width=width,
        contexts=contexts,
        new_tokens=new_tokens,
        repeats=repeats,
        seed=seed,
    )
    tuning = Tuning(pair.target, pair.draft, settings, pair.named, models.target)
    room = max(new_tokens, 2 * max_depth) + max_depth + 2
    fit, held_out = split_prompts(prompts, pair.target, pair.tokenizer, count, check, room)

    def announce(seconds: float) -> None:
        if not as_json:
            forecast = f"tuning takes about {duration(seconds)} here; Ctrl-C ends it and keeps the figures"
            print(forecast, file=sys.stderr)

    interrupted, saved = False, False
    try:
        with progress(quiet=as_json) as report:
            tuning.run(fit, held_out, report, announce)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        # Whatever ended the work, what was measured is not lost.
        profile = tuning.profile(interrupted)
        if tuning.costs is not None:
            saved = profile.save(output)
    if as_json:
        print_json(profile.to_dict())
    else:
        _print(tuning, output, interrupted, saved)
    return 130 if interrupted else 0


def _print(tuning: "Tuning", output: Path, interrupted: bool, saved: bool) -> None:
    from univer.cli.terminal import print_lines
    from univer.tuning.check import TOLERANCE
    from univer.tuning.tuner import TEXT_TOKENS

    if tuning.costs is None:
        print_lines("interrupted before the first round was timed: nothing was measured, no file was written")
        return
    _print_costs(tuning)
    _print_acceptance(tuning)
    _print_candidates(tuning)
    settings, check, chosen = tuning.settings, tuning.check, tuning.chosen
    print_lines(
        "",
        f"{tuning.target_name} with {tuning.draft.name}, method {settings.method.name}, temperature "
        f"{settings.options.temperature:g}, {len(tuning.prompts)} prompts, {settings.contexts} contexts each, "
        f"seed {settings.seed}",
    )
    if chosen is None:
        print_lines("interrupted before a tree was chosen")
    else:
        print_lines(
            f"chosen           {chosen.tree}",
            f"predicted        {tuning.speed(chosen):.1f} tokens/s on texts of {TEXT_TOKENS} tokens, the time to read "
            f"the prompt included; plain decoding {tuning.plain_speed:.1f}",
        )
        if tuning.default and tuning.default is not chosen:
            print_lines(
                f"default tree     {tuning.speed(tuning.default):.1f} tokens/s with {tuning.default.tree}, the tree of "
                "'univer generate' without --tree and --tuned"
            )
        if chosen.source == "plain":
            print_lines(
                "                 no tree with this draft is faster than plain decoding here: nothing is drafted"
            )
    if check.tokens:
        print_lines(
            f"check            {check.predicted_speed:.1f} tokens/s predicted, {check.measured_speed:.1f} measured "
            f"({check.error:+.1%}) on {len(check.tokens)} other prompts, {sum(check.tokens)} tokens, the time to read "
            "the prompts included"
        )
        if not check.holds:
            print_lines(
                f"                 THE FORECAST IS OFF by more than {TOLERANCE:.0%}: either other programs "
                "disturbed the timing, or the prompts differ much. Tune again with larger --count and --repeats"
            )
    if interrupted:
        print_lines("                 interrupted: these are the figures measured so far")
    if saved:
        print_lines(f"written to       {output} (use --tuned {output})")
    else:
        print_lines(f"not written      {output} keeps the result of an earlier run, which has a tree")


def _print_costs(tuning: "Tuning") -> None:
    from univer.cli.terminal import number, print_lines, print_table

    costs = tuning.costs
    assert costs is not None, "the caller has seen them"
    rows = [
        [
            str(size),
            number(1000 * costs.target(size), ".1f"),
            number(1000 * costs.distributions(size), ".1f"),
            number(1000 * costs.levels(size) if size <= costs.levels.sizes[-1] else None, ".1f"),
        ]
        for size in sorted({*costs.target.sizes, *costs.levels.sizes})
    ]
    title = "Cost of a pass in ms, by the number of tokens that it reads (medians over rounds)"
    print_table(("tokens", "target", "probabilities", "draft level"), rows, title)
    verification = [1000 * seconds for seconds in costs.verification.seconds]
    print_lines(
        f"first level of a draft {1000 * costs.root:.1f} ms, verification {verification[0]:.1f} to "
        f"{verification[-1]:.1f} ms, cache {1000 * costs.cache:.1f} ms, plain round {1000 * costs.plain:.1f} ms"
    )


def _print_acceptance(tuning: "Tuning") -> None:
    from univer.cli.terminal import number, print_table

    table = tuning.counts.table() if tuning.counts else []
    if not table:
        return
    width = min(4, len(table[0]))
    rows = [
        [str(depth), *(number(chance, ".3f") for chance in (*row[width - 1], sum(row[width - 1])))]
        for depth, row in enumerate(table)
    ]
    title = f"\nProbability that a child is accepted, by its rank among {width} and by depth"
    print_table(("depth", *(f"child {rank + 1}" for rank in range(width)), "any"), rows, title)


def _print_candidates(tuning: "Tuning") -> None:
    from univer.cli.terminal import number, print_table

    ranked = tuning.ranked()
    if not ranked or tuning.costs is None:
        return
    plain = tuning.plain_speed
    rows = []
    for entry in ranked:
        forecast = entry.forecast(tuning.costs, tuning.prompts)
        speed = tuning.speed(entry)
        name = "plain decoding" if entry.source == "plain" else entry.tree
        name = name if len(name) <= LONGEST_TREE else name[: LONGEST_TREE - 4] + "...]"
        rows.append(
            [
                ("* " if entry is tuning.chosen else "  ") + name,
                entry.source,
                number(entry.mean_nodes, ".1f"),
                number(forecast.tau, ".3f"),
                number(1000 * forecast.round_seconds, ".1f"),
                number(speed, ".1f"),
                number(speed / plain if plain else None),
            ]
        )
    print_table(CANDIDATES, rows, "\nCandidates, by expected tokens per second")
