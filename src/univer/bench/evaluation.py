"""What methods make of drafted trees, by their exact outcome laws; the trees come from models or from a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from univer.bench.bounds import tau_range
from univer.engine.contexts import Context, Entry
from univer.verdict import end_distribution

# Name of a tree and of a row on it.
Cell = tuple[str, str]


@dataclass(frozen=True)
class Outcome:
    """One method on one drafted tree.

    Attributes:
        tau: one plus the mean depth under the exact law of the last kept node.
        nodes: number of drafted nodes.
        survival: probability that at least 1, 2, ... drafted tokens are kept, one figure for each level that the tree's
            policy may have.
        error: bound on the error of tau; 0 where the context has whole rows.
    """

    tau: float
    nodes: int
    survival: tuple[float, ...]
    error: float


def judge(
    contexts: Iterable[Context], entries: Sequence[tuple[str, Entry]], progress: Callable[[], None] = lambda: None
) -> dict[Cell, list[Outcome]]:
    """Evaluate every row on the contexts whose trees were drafted for it.

    Args:
        contexts: drafted trees with the target's laws.
        entries: the rows, each with the name of its tree.
        progress: called after every context.

    Returns:
        Per row, its outcomes in the order of the contexts.
    """
    found: dict[Cell, list[Outcome]] = {}
    for context in contexts:
        for tree, entry in entries:
            if entry.growth == context.growth:
                found.setdefault((tree, entry.name), []).append(evaluate(context, entry))
        progress()
    return found


def evaluate(context: Context, entry: Entry) -> Outcome:
    """The exact figures of one method on one drafted tree.

    Raises:
        ValueError: the method does not take the tree, or the context has merged tokens and no bound is known for the
            method.
    """
    law = end_distribution(context.tree, context.laws, entry.method, entry.order)
    depths = torch.from_numpy(context.tree.topology.depths).to(law.device)
    tau = 1 + float(law @ depths.to(law))
    survival = [float(law[depths >= depth].sum()) for depth in range(1, entry.policy.max_depth + 1)]
    error = 0.0
    if context.merged:
        low, high = tau_range(context.tree, context.laws, entry.method, entry.order)
        error = max(high - tau, tau - low, 0.0)
    return Outcome(tau, len(context.tree) - 1, tuple(survival), error)


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What a record of a run folder holds of one method on the trees of one prompt.

    Args:
        outcomes: at least one.

    Returns:
        `taus`, one for each tree, and the means `nodes`, `survival` and `error`.

    Example:
        >>> figures([Outcome(1.5, 2, (0.5,), 0.0), Outcome(1.7, 2, (0.7,), 0.0)])["survival"]
        [0.6]
    """
    count = len(outcomes)
    return {
        "taus": [outcome.tau for outcome in outcomes],
        "nodes": sum(outcome.nodes for outcome in outcomes) / count,
        "survival": [sum(level) / count for level in zip(*(outcome.survival for outcome in outcomes), strict=True)],
        "error": sum(outcome.error for outcome in outcomes) / count,
    }
