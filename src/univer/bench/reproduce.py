"""Measuring an experiment by exact outcome laws: every method on the same contexts, prompt after prompt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any
from zlib import crc32

from torch import Tensor

from univer.bench.compare import entries_for
from univer.bench.evaluation import figures, judge
from univer.bench.experiments import Experiment
from univer.bench.folder import Key, Record, key
from univer.bench.paper import paper_gain
from univer.drafting.base import Draft
from univer.engine import Sampling
from univer.engine.contexts import Entry, contexts
from univer.models.prompts import Prompt


def entries_of(experiment: Experiment) -> list[tuple[str, Entry]]:
    """The rows of an experiment, each with the name of its tree."""
    return [(tree, entry) for tree, names in experiment.trees.items() for entry in entries_for(tree, names)]


def measure(
    target: Any,
    draft: Draft,
    prompts: Sequence[tuple[Prompt, Tensor]],
    experiment: Experiment,
    *,
    seed: int = 0,
    new_tokens: int = 64,
    generation_config: Any = None,
    done: Collection[Key] = (),
    progress: Callable[[], None] = lambda: None,
) -> Iterator[Record]:
    """Measure every cell of an experiment that has no record yet.

    Texts and draws depend on the seed and the name of the prompt alone, so it does not matter where an earlier run
    ended.

    Args:
        target: a causal language model.
        draft: the draft.
        prompts: prompts with their token ids `[1, L]`.
        experiment: what to measure.
        seed: of texts and draws.
        new_tokens: length of the text that the contexts are taken from.
        generation_config: in place of the target's.
        done: keys of records that there are already.
        progress: called after every context.

    Yields:
        The records, prompt after prompt and temperature after temperature.
    """
    entries = entries_of(experiment)
    growths = list(dict.fromkeys(entry.growth for _, entry in entries))
    label = draft.name.rpartition("/")[2]
    for prompt, input_ids in prompts:
        for temperature in experiment.temperatures:
            common = {"source": "replay", "prompt": prompt.name, "group": prompt.kind, "draft": label}
            cells = {
                (tree, entry.name): common | {"tree": tree, "method": entry.name, "temperature": temperature}
                for tree, entry in entries
            }
            if all(key(cell) in done for cell in cells.values()):
                continue
            sampling = Sampling(temperature)
            drafted = contexts(
                target,
                draft,
                input_ids,
                growths,
                sampling=sampling,
                draft_sampling=sampling,
                places=experiment.places,
                trees=experiment.drafted,
                new_tokens=new_tokens,
                seed=crc32(f"{seed} {prompt.name}".encode()),
                generation_config=generation_config,
                leaves=False,
            )
            for cell, outcomes in judge(drafted, entries, progress).items():
                if key(cells[cell]) not in done:
                    yield cells[cell] | figures(outcomes)


def beside_paper(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of a summary for which the paper has a figure, with the difference.

    Args:
        summary: of `summarise`.

    Returns:
        Per row `method`, `tree`, `temperature`, `gain` (ours, with its interval), `paper` and `difference`, all
        relative gains over RRSw.

    Example:
        >>> row = {"group": "all", "tree": "2x5", "temperature": 1.0, "method": "univer", "gain": {"value": 0.1}}
        >>> beside_paper({"rows": [row]})[0]["difference"]
        0.025...
    """
    found = []
    for row in summary["rows"]:
        paper = paper_gain(row["tree"], row["temperature"], row["method"], row["group"])
        if paper is not None and row["gain"] is not None:
            own = {name: row[name] for name in ("method", "tree", "temperature", "gain")}
            found.append(own | {"paper": paper, "difference": row["gain"]["value"] - paper})
    return found
