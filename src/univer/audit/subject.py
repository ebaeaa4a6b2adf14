"""A method with one sibling order, which is what the audit examines."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from univer.audit.cases import Case
from univer.couplings.order import ORDERS
from univer.methods import Method
from univer.rules.base import ForesightRule
from univer.tree import Forest
from univer.verdict import outcome_law


@dataclass(frozen=True)
class Subject:
    """A method with one sibling order.

    Attributes:
        method: the method.
        order: the order.
    """

    method: Method
    order: str

    @property
    def key(self) -> tuple[str, str]:
        """Name and order."""
        return self.method.name, self.order

    @property
    def is_default(self) -> bool:
        """Whether the order is the method's own."""
        return self.order == self.method.order

    @property
    def is_listed(self) -> bool:
        """Whether it is a row of its own wherever methods are compared: the method's own order, and `gain`."""
        return self.is_default or self.order == "gain"

    def outcome(self, forest: Forest, targets: Tensor) -> Tensor:
        """The outcome distribution `[M, V]` of a forest."""
        return outcome_law(forest, targets, self.method, self.order)

    def takes(self, case: Case) -> bool:
        """Whether the order suits the case: `gain` does not support trees from which something was dropped."""
        return self.order != "gain" or not case.drop


def subjects_of(method: Method) -> list[Subject]:
    """A method in its own order, and in all others its rule allows where the coupling uses an order."""
    own = [Subject(method, method.order)]
    if not method.coupling.uses_order or method.draft_law == "chain":
        return own
    orders = [order for order in ORDERS if order != "gain" or isinstance(method.rule, ForesightRule)]
    return own + [Subject(method, order) for order in orders if order != method.order]
