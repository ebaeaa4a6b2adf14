"""`univer compare`: all methods on the same contexts, from their exact outcome distributions."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated
from zlib import crc32

from univer.cli.options import (
    AsJson,
    ContextOptions,
    FilterOptions,
    IgnoreConfig,
    PairOptions,
    RunOutput,
    Seed,
    Trees,
    Tuned,
    methods_option,
)

__all__ = ["compare"]

KIND = "compare"


def compare(
    *,
    models: PairOptions,
    tree: Trees = None,
    tuned: Tuned = None,
    method: Annotated[list[str] | None, methods_option("all but the linear programmes")] = None,
    contexts: ContextOptions,
    filters: FilterOptions,
    ignore_config: IgnoreConfig = False,
    seed: Seed = 0,
    output: RunOutput = None,
    as_json: AsJson = False,
) -> int:
    """Compare how many tokens each method accepts, on the same drafted trees.

    The figures come from exact probabilities on real models, so that they lack the noise of counting accepted tokens.
    """
    from univer.bench import load_prompts, rows_for, summarise
    from univer.bench.folder import RunFolder
    from univer.bench.paper import beside_paper
    from univer.bench.rows import default_trees, describe
    from univer.cli.loading import load_pair, note_differences, with_prompts, with_tuned
    from univer.cli.measured import context_settings, measure_pair, pair_settings, print_object, run_folder
    from univer.cli.run_tables import print_cells, print_settings

    # Options are checked before a model is loaded.
    given = asdict(filters) | {"temperature": contexts.temperature}
    profile, given = with_tuned(tuned, given | {"draft": models.draft, "tree": tree})
    models = replace(models, draft=given.pop("draft"))
    trees = [profile.tree] if profile and profile.tree else given.pop("tree")
    given.pop("tree", None)
    sampled = context_settings(contexts, given)
    rows = rows_for(trees, method) if trees else []
    chosen = load_prompts(contexts.prompts, contexts.count)

    RunFolder.check(output, KIND)
    pair = load_pair(models)
    rows = rows or rows_for(default_trees(pair.draft, method), method)
    room = contexts.new_tokens + max(row.policy.max_depth for row in rows)
    pair = with_prompts(pair, chosen, room, ignore_config=ignore_config)
    sampled = replace(sampled, generation_config=pair.generation_config)
    if profile is not None and tuned is not None:
        profile.check(pair.target, pair.draft.name)
        note_differences(profile, tuned, pair.target, vars(sampled.sampling))
    settings = {
        "target": Path(models.target).name,
        "questions": contexts.prompts.name if contexts.prompts else "our own",
        "prompts_checksum": crc32(repr([asdict(prompt) for prompt, _ in pair.prompts]).encode()),
        "sampling": vars(sampled.sampling),
        "draft_sampling": vars(sampled.of_draft),
        "places": contexts.contexts,
        "drafted": contexts.drafted,
        "new_tokens": contexts.new_tokens,
        "seed": seed,
        "ignore_config": ignore_config,
        **pair_settings(pair),
    }
    # Methods may be added to a run later; its trees may not change.
    settings["growths"] = describe(rows)["growths"]
    with run_folder(output, KIND, settings) as folder:
        seeds = range(seed, seed + len(pair.prompts))
        interrupted = measure_pair(folder, pair, rows, [sampled], seeds=seeds, quiet=as_json)
        summary = summarise(folder.records)
        summary["paper"] = beside_paper(summary)
        folder.finish(summary)
        if as_json:
            print_object(folder, folder.records, summary, interrupted)
        else:
            print_cells(summary, rows)
            print_settings(folder, summary, interrupted)
    return 130 if interrupted else 0
