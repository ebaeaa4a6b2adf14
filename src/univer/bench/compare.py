"""All methods on the same contexts, by their exact outcome laws."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from univer.bench.evaluation import judge
from univer.bench.intervals import Interval, gain_interval, mean_interval
from univer.bench.paper import paper_gain
from univer.bench.summary import REFERENCE
from univer.couplings.order import ORDERS
from univer.drafting.base import Draft
from univer.drafting.growth import Static
from univer.drafting.growth.parse import parse_tree
from univer.engine import Sampling
from univer.engine.contexts import Entry, contexts
from univer.engine.plan import slots_of
from univer.methods import methods, resolve
from univer.models.catalogue import model_name
from univer.models.machine import machine
from univer.models.prompts import Prompt


@dataclass(frozen=True)
class Row:
    """One method on one tree, over all prompts.

    Attributes:
        entry: method, order and tree.
        nodes: mean number of drafted nodes.
        tau: tokens per target pass, mean over prompts.
        gain: relative gain in tau over the reference on the same tree; None for the reference itself or without it.
        paper: the gain that the paper reports for this cell, if it does.
    """

    entry: Entry
    nodes: float
    tau: Interval
    gain: Interval | None
    paper: float | None


@dataclass
class Comparison:
    """Figures of all entries on the prompts seen so far.

    Attributes:
        settings: everything the figures depend on.
        entries: the rows in order, the reference of each tree among them.
        kinds: per prompt name its kind.
        taus: per prompt name and tree and row name, tau of every drafted tree.
        nodes: per tree and row name, numbers of drafted nodes.
    """

    settings: dict[str, Any]
    entries: list[tuple[str, Entry]]
    kinds: dict[str, str] = field(default_factory=dict)
    taus: dict[str, dict[tuple[str, str], list[float]]] = field(default_factory=dict)
    nodes: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def prompt_means(self, tree: str, name: str) -> list[float]:
        """Mean tau of one row on every prompt."""
        return [sum(own[tree, name]) / len(own[tree, name]) for own in self.taus.values()]

    def rows(self) -> list[Row]:
        """The table: intervals are paired bootstraps over prompts."""
        if not self.taus:
            return []
        table = []
        for tree, entry in self.entries:
            means = self.prompt_means(tree, entry.name)
            compared = entry.name != REFERENCE and (tree, REFERENCE) in {(t, e.name) for t, e in self.entries}
            counts = self.nodes[tree, entry.name]
            table.append(
                Row(
                    entry,
                    sum(counts) / len(counts),
                    mean_interval(means),
                    gain_interval(means, self.prompt_means(tree, REFERENCE)) if compared else None,
                    paper_gain(tree, self.settings["temperature"], entry.name),
                )
            )
        return table

    def to_dict(self) -> dict[str, Any]:
        """Settings, rows and raw figures as plain numbers, text and lists."""
        rows = [
            {
                "tree": tree,
                "name": row.entry.name,
                "method": row.entry.method.name,
                "order": row.entry.order,
                "draft_law": row.entry.law,
                "shape": row.entry.policy.name,
                "exact": row.entry.method.exact,
                "nodes": row.nodes,
                "tau": vars(row.tau),
                "gain_over_rrsw": vars(row.gain) if row.gain else None,
                "paper_gain": row.paper,
            }
            for (tree, _), row in zip(self.entries, self.rows(), strict=False)
        ]
        records = [
            {"prompt": prompt, "kind": self.kinds[prompt], "tree": tree, "name": name, "tau": values}
            for prompt, own in self.taus.items()
            for (tree, name), values in own.items()
        ]
        return {"settings": self.settings, "rows": rows, "records": records}


def entries_for(tree: str, names: Sequence[str] | None = None) -> list[Entry]:
    """The rows of a comparison on one tree.

    Every method drafts by its own law; chain methods draft a chain as deep as the tree. Methods whose coupling uses the
    sibling order get a second row with the order `gain`, if it can make a difference.

    Args:
        tree: a shape or policy by name, such as `2x5` or `grow`.
        names: methods to compare, by default all that take such a tree but those that solve a linear programme;
            `name:order` for an order.

    Raises:
        ValueError: an unknown method, order or tree, or a method that is named and does not take such trees.

    Example:
        >>> [entry.name for entry in entries_for("2x5", ["univer", "univer:gain", "token"])]
        ['univer', 'univer (gain)', 'token']
    """
    if names is None:
        known = [name for name in methods() if not name.startswith("optimal") and _drafted(tree, name)]
        names = [full for name in known for full in (name, f"{name}:gain") if full == name or _gains(name)]
    found = []
    for full in names:
        name, _, order = full.partition(":")
        method = resolve(name)
        if order and order not in ORDERS:
            raise ValueError(f"unknown sibling order {order!r}; known are {', '.join(ORDERS)}")
        law, policy = method.draft_law, parse_tree(tree)
        if law == "chain" and isinstance(policy, Static):
            policy = parse_tree(f"chain-{policy.max_depth}")
        shape = policy.widest(law)
        method.check(slots_of(shape), order or method.order)
        found.append(Entry(f"{name} ({order})" if order else name, method, order or method.order, policy, shape.law))
    return found


def _drafted(tree: str, name: str) -> bool:
    """Whether the method takes trees of this kind."""
    method, policy = resolve(name), parse_tree(tree)
    if method.draft_law == "chain" and isinstance(policy, Static):
        return True
    try:
        method.check(slots_of(policy.widest(method.draft_law)), method.order)
    except ValueError:
        return False
    return True


def _gains(name: str) -> bool:
    method = resolve(name)
    return method.coupling.uses_order and hasattr(method.rule, "expected_acceptance") and method.draft_law != "chain"


def compare(
    target: Any,
    draft: Draft,
    prompts: Iterable[tuple[Prompt, Tensor]],
    trees: Sequence[str] = ("2x5",),
    names: Sequence[str] | None = None,
    *,
    sampling: Sampling | None = None,
    draft_sampling: Sampling | None = None,
    places: int = 8,
    drafted: int = 2,
    new_tokens: int = 64,
    seed: int = 0,
    generation_config: Any = None,
    progress: Callable[[int], None] = lambda done: None,
    into: Comparison | None = None,
) -> Comparison:
    """Measure tau of methods on the same contexts, without counting noise.

    Per context and draft law trees are drafted with common random numbers; tau of a method is one plus the mean depth
    under the exact law of the last kept node. Methods of one draft law see the very same trees.

    Args:
        target: a causal language model.
        draft: the draft.
        prompts: prompts with their token ids `[1, L]`.
        trees: shapes by name.
        names: methods, as `entries_for` takes them.
        sampling: settings of the target's laws; temperature 1 by default.
        draft_sampling: settings of the draft's laws; the target's by default.
        places: contexts per prompt.
        drafted: trees per context and draft law.
        new_tokens: length of the text that the contexts are taken from.
        seed: of texts and draws.
        generation_config: in place of the target's.
        progress: called with the number of contexts finished.
        into: filled while the work goes on, so that an interruption loses nothing; see `prepare`.

    Returns:
        The comparison.

    Raises:
        ValueError: nothing to compare with, two prompts of one name, or a setting that the engine refuses.
    """
    sampling = sampling or Sampling()
    result = into or prepare(trees, names)
    result.settings |= {
        "target": model_name(target),
        "draft": draft.name.rpartition("/")[2],
        "dtype": str(target.dtype).removeprefix("torch."),
        "device": str(target.device),
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "draft_sampling": vars(draft_sampling) if draft_sampling else "as the target's",
        "places": places,
        "drafted": drafted,
        "new_tokens": new_tokens,
        "seed": seed,
        "machine": machine(),
    }
    growths = list(dict.fromkeys(entry.growth for _, entry in result.entries))
    started, done = time.perf_counter(), 0

    def tell() -> None:
        nonlocal done
        done += 1
        progress(done)

    for number, (prompt, input_ids) in enumerate(prompts):
        if prompt.name in result.taus:
            raise ValueError(f"two prompts are called {prompt.name!r}: give each a name of its own")
        drafted_here = contexts(
            target,
            draft,
            input_ids,
            growths,
            sampling=sampling,
            draft_sampling=draft_sampling or sampling,
            places=places,
            trees=drafted,
            new_tokens=new_tokens,
            seed=seed + number,
            generation_config=generation_config,
            leaves=False,
        )
        outcomes = judge(drafted_here, result.entries, tell)
        for cell, own in outcomes.items():
            result.nodes.setdefault(cell, []).extend(outcome.nodes for outcome in own)
        result.kinds[prompt.name] = prompt.kind
        result.taus[prompt.name] = {cell: [outcome.tau for outcome in own] for cell, own in outcomes.items()}
        result.settings["seconds"] = time.perf_counter() - started
    return result


def prepare(trees: Sequence[str], names: Sequence[str] | None = None) -> Comparison:
    """An empty comparison of the given methods on the given trees.

    Raises:
        ValueError: an unknown method or tree, or a row that is named twice.
    """
    entries = [(tree, entry) for tree in trees for entry in entries_for(tree, names)]
    labels = [(tree, entry.name) for tree, entry in entries]
    if repeated := {label for label in labels if labels.count(label) > 1}:
        tree, name = min(repeated)
        raise ValueError(f"{name!r} on the tree {tree!r} is named twice")
    return Comparison({}, entries)
