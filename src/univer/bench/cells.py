"""What a live benchmark measures on every prompt: a method with its draft, tree and temperature, or plain decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from univer.bench.folder import Key, key
from univer.bench.measure import labels
from univer.bench.rows import Row, default_trees, rows_for
from univer.bench.summary import PLAIN
from univer.drafting.base import Draft
from univer.drafting.growth.parse import parse_tree
from univer.engine.plan import TreePlan
from univer.methods import resolve
from univer.models.prompts import Prompt

BY_DRAFT = "default"


@dataclass(frozen=True)
class Cell:
    """One way to decode.

    Attributes:
        temperature: of the target.
        draft: name of the draft; None for plain decoding.
        row: method, sibling order and tree; likewise.
        drafter: the draft itself; likewise.
    """

    temperature: float
    draft: str | None = None
    row: Row | None = None
    drafter: Draft | None = None

    @property
    def labels(self) -> dict[str, Any]:
        """How records and tables name it."""
        row = labels(self.row) if self.row else {"tree": None, "method": PLAIN}
        return {"draft": self.draft, **row, "temperature": self.temperature}

    def key(self, prompt: Prompt) -> Key:
        """The key of its record on a prompt."""
        return key({"prompt": prompt.name, **self.labels})

    @property
    def depth(self) -> int:
        """Most drafted tokens that a round can keep."""
        return self.row.policy.max_depth if self.row else 0


def fitting(trees: Sequence[str], names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The methods of every tree; those that do not take such trees are left out.

    Args:
        trees: trees by name.
        names: methods, or `method:order`.

    Returns:
        Methods by tree, and what is left out with its reason.

    Raises:
        ValueError: an unknown method, order or tree; something named twice; a tree that none of the methods takes, or
            a method that takes none of the trees.

    Example:
        >>> found, left_out = fitting(["2x5", "grow"], ["spectr", "univer"])
        >>> found, len(left_out)
        ({'2x5': ['spectr', 'univer'], 'grow': ['univer']}, 1)
    """
    for given in (trees, names):
        if repeated := {name for name in given if list(given).count(name) > 1}:
            raise ValueError(f"{min(repeated)!r} is named twice")
    for tree in trees:
        parse_tree(tree)
    for name in names:
        resolve(name.partition(":")[0])
    found: dict[str, list[str]] = {tree: [] for tree in trees}
    refused: dict[tuple[str, str], str] = {}
    for tree, name in product(trees, names):
        try:
            rows_for([tree], [name])
        except ValueError as error:
            refused[tree, name] = str(error)
        else:
            found[tree].append(name)
    for tree, name in refused:
        if not found[tree] or not any(name in taken for taken in found.values()):
            raise ValueError(refused[tree, name])
    return found, [f"{name} on the tree {tree}: {reason}" for (tree, name), reason in refused.items()]


def cells_of(
    grid: Mapping[str, Sequence[str]], drafts: Mapping[str, Draft], temperatures: Sequence[float]
) -> tuple[list[Cell], list[str]]:
    """Everything to measure, plain decoding at every temperature first.

    Args:
        grid: methods by tree, as `fitting` gives them; the tree `BY_DRAFT` stands for the default tree of each draft.
        drafts: drafts by name.
        temperatures: temperatures of the target.

    Returns:
        The cells, and what is left out with its reason: methods whose trees a draft cannot draw.

    Raises:
        ValueError: no method can use one of the drafts.
    """
    cells = [Cell(temperature) for temperature in temperatures]
    left_out: list[str] = []
    for name, draft in drafts.items():
        before = len(cells)
        rows: list[Row] = []
        reasons: dict[str, None] = {}
        for tree, names in grid.items():
            found, unfit = fitting(default_trees(draft, names) if tree == BY_DRAFT else [tree], names)
            rows += [row for chosen, taken in found.items() for row in rows_for([chosen], taken)]
            reasons |= dict.fromkeys(unfit)
        for temperature, row in product(temperatures, rows):
            try:
                TreePlan(row.policy, draft, row.method, row.order, greedy=temperature == 0)
            except ValueError as error:
                reasons[f"{row.name} on the tree {row.tree} with {name} at temperature {temperature:g}: {error}"] = None
                continue
            cells.append(Cell(temperature, name, row, draft))
        if len(cells) == before:
            raise ValueError(f"none of the methods can use the draft {name}: {next(iter(reasons))}")
        left_out += reasons
    return cells, left_out
