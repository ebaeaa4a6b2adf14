"""What an audit found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from univer.audit.checks import FLOAT64_ERROR


@dataclass
class Row:
    """What the audit found about one method with one sibling order. Numbers are None where a part was not run.

    Attributes:
        method: its name.
        order: sibling order.
        exact: False for a method that declares itself lossy; it counts as lossy whatever is measured.
        draft_law: sampling scheme of most of its cases.
        cases: cases enumerated.
        trees: drafted trees of their first rounds.
        error64: largest error of the distribution of two rounds in float64.
        error32: the same in float32.
        accepted: mean expected accepted length of the first round over the cases with a bound.
        bound: mean of the bounds.
        attained: cases in which the bound is attained.
        bounded: cases with a bound.
        excess: most that the expected accepted length exceeds the bound by.
        grid: largest error of the distribution of verdicts over a grid of uniforms, one round and two.
        edges: verdicts at an edge of a cell that differ from those inside it.
        differing: rounds in which `verify` with a generator does not use its next `N + 1` uniforms.
        p_value: smallest p-value of the counted verdicts.
        tests: how many p-values there are.
        growth: largest error of the distribution of one round over trees grown within the growth rule.
        faults: what is wrong, in words.
    """

    method: str
    order: str
    exact: bool
    draft_law: str
    cases: int = 0
    trees: int = 0
    error64: float | None = None
    error32: float | None = None
    accepted: float | None = None
    bound: float | None = None
    attained: int = 0
    bounded: int = 0
    excess: float | None = None
    grid: float | None = None
    edges: int | None = None
    differing: int | None = None
    p_value: float | None = None
    tests: int = 0
    growth: float | None = None
    faults: list[str] = field(default_factory=list)

    @property
    def gap(self) -> float | None:
        """Mean distance to the bound."""
        return None if self.accepted is None or self.bound is None else self.bound - self.accepted


@dataclass(frozen=True)
class PolicyRow:
    """What the audit found about all trees that a tree policy can draw.

    Attributes:
        policy: its text form.
        draft_law: its sampling scheme.
        trees: how many different trees there are, over several models.
        methods: exact methods that were run on them.
        checks: pairs of a model's trees and a method with a sibling order.
        error: largest error of the distribution of one round, of two where there are budgets.
        budgets: most nodes of the trees of the first round, then those of the second, one of which is picked by what
            the first has put out; empty for one round under the policy's own budget.
    """

    policy: str
    draft_law: str
    trees: int
    methods: int
    checks: int
    error: float
    budgets: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The policy with its sampling scheme and budgets."""
        budgets = f", budgets {self.rounds}" if self.budgets else ""
        return f"{self.policy} ({self.draft_law}{budgets})"

    @property
    def rounds(self) -> str:
        """The budgets as text.

        Example:
            >>> PolicyRow("2x2", "swor", 9, 1, 1, 0.0, (3, 1, 2)).rounds
            '3, then 1 or 2'
        """
        return f"{self.budgets[0]}, then {' or '.join(map(str, self.budgets[1:]))}" if self.budgets else "its own"


@dataclass(frozen=True)
class TwinRow:
    """A broken twin: its name, the check that must catch it, what the error measures, the error, and the result."""

    name: str
    check: str
    shows: str
    error: float
    caught: bool


@dataclass(frozen=True)
class Length:
    """The accepted length of a method on one case, beside the most that any lossless rule could reach.

    Attributes:
        method: its name, with the sibling order in brackets if it is not the method's default.
        case: name of the case.
        draft_law: sampling scheme of its trees.
        nodes: most drafted nodes of a tree.
        accepted: expected accepted length of the first round.
        bound: the most of any lossless rule.
    """

    method: str
    case: str
    draft_law: str
    nodes: int
    accepted: float
    bound: float


@dataclass(frozen=True)
class Relation:
    """A relation between methods: its name, the cases it was checked on, its worst value, and whether it holds."""

    name: str
    cases: int
    worst: float
    holds: bool


@dataclass(frozen=True)
class Skipped:
    """A part of the audit that was left out, for which methods, and why."""

    what: str
    methods: tuple[str, ...]
    reason: str


@dataclass
class Report:
    """The whole audit.

    Attributes:
        rows: one per method and sibling order.
        policies: tree policies and the trees that they can draw.
        twins: the broken twins.
        relations: order relations and corners of the `mixed` family.
        skipped: everything left out.
        lengths: accepted lengths beside their bounds of every method in its default order and in `gain`, on the cases
            of its own sampling scheme.
        seed: of all random numbers.
        seconds: how long it took.
    """

    rows: list[Row] = field(default_factory=list)
    policies: list[PolicyRow] = field(default_factory=list)
    twins: list[TwinRow] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    lengths: list[Length] = field(default_factory=list)
    seed: int = 0
    seconds: float = 0.0

    @property
    def faults(self) -> list[str]:
        """Everything that is wrong, in words."""
        found = [f"{row.method} ({row.order}): {fault}" for row in self.rows for fault in row.faults]
        found += [
            f"tree policy {row.name}: error of the output distribution over all its trees: {row.error:.3g}"
            for row in self.policies
            if not row.error <= FLOAT64_ERROR
        ]
        found += [f"broken twin not caught: {twin.name}" for twin in self.twins if not twin.caught]
        return found + [f"relation does not hold: {relation.name}" for relation in self.relations if not relation.holds]

    @property
    def ok(self) -> bool:
        """Whether the audit passed."""
        return not self.faults

    def to_dict(self) -> dict[str, Any]:
        """The report as plain numbers and text, ready for JSON."""
        rows = [{**asdict(row), "gap": row.gap} for row in self.rows]
        return {**asdict(self), "rows": rows, "faults": self.faults, "ok": self.ok}
