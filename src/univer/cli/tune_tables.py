"""The tables of `univer tune`, for a person."""

from pathlib import Path

from univer.cli.terminal import print_table, standard_output
from univer.tuning.check import TOLERANCE
from univer.tuning.tuner import TEXT_TOKENS, Tuning

__all__ = ["print_tuning"]

CANDIDATES = ("tree", "from", "nodes", "tokens a round", "ms a round", "tokens/s", "ratio to plain")
# Planned trees are long lists; the file holds them whole.
LONGEST_TREE = 48


def print_tuning(tuning: Tuning, output: Path, interrupted: bool, saved: bool) -> None:
    """Print what was measured and what was chosen.

    Args:
        tuning: what was found.
        output: file that it was written to.
        interrupted: whether the user ended it.
        saved: whether the file was written.
    """
    console = standard_output()
    if tuning.costs is None:
        console.print("interrupted before the first round was timed: nothing to show, nothing written")
        return
    _print_costs(tuning)
    _print_acceptance(tuning)
    _print_candidates(tuning)
    settings = tuning.settings
    console.print()
    console.print(
        f"{tuning.target_name} with {tuning.draft.name}, method {settings.method.name}, temperature "
        f"{settings.options.temperature:g}, {len(tuning.prompts)} prompts, {settings.contexts} contexts each, "
        f"seed {settings.seed}",
        soft_wrap=True,
    )
    check = tuning.check
    if tuning.chosen is None:
        console.print("interrupted before a tree was chosen", soft_wrap=True)
    else:
        console.print(f"chosen           {tuning.chosen.tree}", soft_wrap=True)
        console.print(
            f"predicted        {tuning.speed(tuning.chosen):.1f} tokens/s on texts of {TEXT_TOKENS} tokens, prompts "
            f"read in that time included; plain decoding {tuning.plain_speed:.1f}",
            soft_wrap=True,
        )
        if tuning.default and tuning.default is not tuning.chosen:
            console.print(
                f"default tree     {tuning.speed(tuning.default):.1f} tokens/s with {tuning.default.tree}, the tree of "
                "'univer generate' without --tree and --tuned",
                soft_wrap=True,
            )
        if tuning.chosen.source == "plain":
            console.print("                 no tree pays with this draft here: nothing is drafted", soft_wrap=True)
    if check.tokens:
        console.print(
            f"check            {check.predicted_speed:.1f} tokens/s predicted, {check.measured_speed:.1f} measured "
            f"({check.error:+.1%}) on {len(check.tokens)} other prompts, {sum(check.tokens)} tokens, reading "
            "the prompts included on both sides",
            soft_wrap=True,
        )
        if not check.holds:
            console.print(
                f"                 THE FORECAST IS OFF by more than {TOLERANCE:.0%}: other work on the machine "
                "disturbed the timing, or prompts differ much: tune again with more --count and --repeats",
                soft_wrap=True,
            )
    if interrupted:
        console.print("                 interrupted: what was measured until then", soft_wrap=True)
    if saved:
        console.print(f"written to       {output} (use --tuned {output})", soft_wrap=True)
    else:
        console.print(f"not written      {output} keeps the result of an earlier run, which has a tree", soft_wrap=True)


def _print_costs(tuning: Tuning) -> None:
    costs = tuning.costs
    assert costs is not None, "the caller has seen them"
    console = standard_output()
    console.print("Cost of a pass in ms, by the tokens that it reads (medians of rounds)")
    sizes = sorted({*costs.target.sizes, *costs.levels.sizes})
    rows = [
        [
            str(size),
            f"{1000 * costs.target(size):.1f}",
            f"{1000 * costs.distributions(size):.1f}",
            f"{1000 * costs.levels(size):.1f}" if size <= costs.levels.sizes[-1] else "-",
        ]
        for size in sizes
    ]
    print_table(("tokens", "target", "laws", "draft level"), rows)
    verdicts = costs.verification
    console.print(
        f"first level of a draft {1000 * costs.root:.1f} ms, verdict {1000 * verdicts.seconds[0]:.1f} to "
        f"{1000 * verdicts.seconds[-1]:.1f} ms, cache {1000 * costs.cache:.1f} ms, plain round "
        f"{1000 * costs.plain:.1f} ms",
        soft_wrap=True,
    )


def _print_acceptance(tuning: Tuning) -> None:
    table = tuning.counts.table() if tuning.counts else []
    if not table:
        return
    width = min(4, len(table[0]))
    standard_output().print(f"\nChance of going on to a child, by its rank among {width}, by depth")
    rows = [
        [str(depth), *(f"{chance:.3f}" for chance in row[width - 1]), f"{sum(row[width - 1]):.3f}"]
        for depth, row in enumerate(table)
    ]
    print_table(("depth", *(f"child {rank + 1}" for rank in range(width)), "any"), rows)


def _print_candidates(tuning: Tuning) -> None:
    ranked = tuning.ranked()
    if not ranked or tuning.costs is None:
        return
    standard_output().print("\nCandidates, by expected tokens per second")
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
                f"{entry.mean_nodes:.1f}",
                f"{forecast.tau:.3f}",
                f"{1000 * forecast.round_seconds:.1f}",
                f"{speed:.1f}",
                f"{speed / plain:.2f}" if plain else "-",
            ]
        )
    print_table(CANDIDATES, rows)
