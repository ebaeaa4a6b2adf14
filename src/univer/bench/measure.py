"""Acceptance lengths of methods on the same drafted trees, from the exact distribution of the last kept node.

Methods of one sampling scheme see the very same trees, so their figures are paired and free of counting noise. The
trees come from models (`measure`) or from a trace (`univer.bench.traces.replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from univer.bench.folder import Key, Record, key
from univer.bench.rows import Row, growths_of
from univer.drafting.base import Draft
from univer.engine.contexts import Context, ContextSettings, contexts
from univer.models.prompts import Prompt, check_names
from univer.verdict import end_distribution


@dataclass(frozen=True)
class Outcome:
    """One method on one drafted tree.

    Attributes:
        tau: one plus the mean depth under the exact distribution of the last kept node.
        nodes: number of drafted nodes.
        survival: probability that at least 1, 2, ... drafted tokens are kept, one figure for each level that the tree's
            policy may have.
    """

    tau: float
    nodes: int
    survival: tuple[float, ...]


def evaluate(context: Context, row: Row) -> Outcome:
    """The exact figures of one method on one drafted tree.

    Raises:
        ValueError: the method does not take the tree.
    """
    ends = end_distribution(context.tree, context.target, row.method, row.order)
    depths = torch.from_numpy(context.tree.topology.depths).to(ends.device)
    tau = 1 + float(ends @ depths.to(ends))
    survival = [float(ends[depths >= depth].sum()) for depth in range(1, row.policy.max_depth + 1)]
    return Outcome(tau, len(context.tree) - 1, tuple(survival))


def records_of(
    blank: Record, found: Iterable[Context], rows: Sequence[Row], progress: Callable[[], None] = lambda: None
) -> list[Record]:
    """Evaluate every row on the trees of one prompt that were drafted for it.

    Args:
        blank: `source`, `prompt`, `group`, `draft` and `temperature` of the records.
        found: drafted trees of the prompt.
        rows: the rows.
        progress: called after every tree.

    Returns:
        A record for every row, with `tree`, `method`, `taus` (one for each drafted tree) and the means `nodes` and
        `survival`.
    """
    outcomes: list[list[Outcome]] = [[] for _ in rows]
    for context in found:
        for row, of_row in zip(rows, outcomes, strict=True):
            if row.growth == context.growth:
                of_row.append(evaluate(context, row))
        progress()
    return [blank | labels(row) | _figures(of_row) for row, of_row in zip(rows, outcomes, strict=True) if of_row]


def labels(row: Row) -> dict[str, str]:
    """How records name a row."""
    return {"tree": row.tree, "method": row.name}


def measure(
    target: Any,
    draft: Draft,
    prompts: Sequence[tuple[Prompt, Tensor]],
    rows: Sequence[Row],
    settings: Sequence[ContextSettings],
    *,
    seeds: Sequence[int],
    done: Collection[Key] = (),
    progress: Callable[[], None] = lambda: None,
) -> Iterator[Record]:
    """Measure every row on contexts of every prompt, where it has no record yet.

    A prompt's figures depend on its own seed alone, so it does not matter where an interrupted run ended.

    Args:
        target: a causal language model.
        draft: the draft.
        prompts: prompts with their token ids `[1, L]`.
        rows: the rows.
        settings: how contexts are sampled, once for every temperature.
        seeds: of the text and the trees of each prompt.
        done: keys of the records that there are already.
        progress: called after every drafted tree.

    Yields:
        Records of the source `replay`, prompt after prompt and temperature after temperature.

    Raises:
        ValueError: two prompts have one name, or a setting that the engine does not support.
    """
    check_names([prompt for prompt, _ in prompts])
    for (prompt, input_ids), seed in zip(prompts, seeds, strict=True):
        for sampled in settings:
            blank: Record = {"source": "replay", "prompt": prompt.name, "group": prompt.kind}
            blank |= {"draft": draft_label(draft), "temperature": sampled.sampling.temperature}
            if all(key(blank | labels(row)) in done for row in rows):
                continue
            found = contexts(target, draft, input_ids, growths_of(rows), sampled, seed=seed)
            yield from (record for record in records_of(blank, found, rows, progress) if key(record) not in done)


def draft_label(draft: Draft) -> str:
    """How records name a draft: without the folder that it came from."""
    return draft.name.rpartition("/")[2]


def _figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    count = len(outcomes)
    return {
        "taus": [outcome.tau for outcome in outcomes],
        "nodes": sum(outcome.nodes for outcome in outcomes) / count,
        "survival": [sum(level) / count for level in zip(*(outcome.survival for outcome in outcomes), strict=True)],
    }
