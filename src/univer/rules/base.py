"""What a one-step rule is: the problem it is given, what it answers, and the interface."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from torch import Tensor


@dataclass(frozen=True)
class Siblings:
    """The one-step problem at `n` nodes that have equal numbers of fixed and sampled children.

    At each node the augmented target is `T(x) = a P(x)` on tokens and `T(REJ) = 1 - a`.

    Attributes:
        target: `P`, `[n, V]`.
        draft: `S`, the law of the first sampled child (`Q` without fixed and dropped tokens, renormalised), `[n, V]`;
            None where no child is sampled.
        scale: the prefix scale `a`, `[n]`.
        tokens: children in the order drawn, fixed ones first, `[n, fixed + sampled]`.
        fixed: number of fixed children.
        law: the draft law of the tree.
    """

    target: Tensor
    draft: Tensor | None
    scale: Tensor
    tokens: Tensor
    fixed: int
    law: str

    @property
    def sampled(self) -> int:
        """Number of sampled children."""
        return self.tokens.shape[1] - self.fixed

    @property
    def fixed_tokens(self) -> Tensor:
        """Tokens of the fixed children `[n, fixed]`."""
        return self.tokens[:, : self.fixed]

    @property
    def sampled_tokens(self) -> Tensor:
        """Tokens of the sampled children in the order drawn `[n, sampled]`."""
        return self.tokens[:, self.fixed :]

    def sampling_law(self) -> Tensor:
        """`S`, for rules that need a sampled child."""
        assert self.draft is not None, "a node with sampled children has a draft law"
        return self.draft

    def scaled(self, scale: Tensor) -> Siblings:
        """The same nodes at another prefix scale."""
        return replace(self, scale=scale)


@dataclass(frozen=True)
class Coupling:
    """Probabilities of the outcomes given the drawn children; each row of the three sums to 1 together.

    Attributes:
        children: `p(u)` of every child in the order drawn, `[n, m]`.
        residual: total probability `R` of the tokens emitted without following a child, `[n]`.
        refused: `p(REJ)`, `[n]`.
    """

    children: Tensor
    residual: Tensor
    refused: Tensor


@runtime_checkable
class Rule(Protocol):
    """A lossless coupling between the drawn children of one node and one outcome.

    Both methods answer for all nodes of a `Siblings` at once, on its device, and leave it unchanged.

    Attributes:
        draft_law: the draft law that the rule is made for.
    """

    draft_law: str

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Whether the rule takes a node drawn by `law` with so many fixed and sampled children."""
        ...

    def couple(self, siblings: Siblings) -> Coupling:
        """The probabilities of the outcomes given the drawn children."""
        ...

    def residual(self, siblings: Siblings) -> Tensor:
        """The law of the residual outcomes up to a factor, `[n, V]`."""
        ...


@runtime_checkable
class ForesightRule(Rule, Protocol):
    """A rule that knows what it will accept before the children are drawn; the sibling order `gain` asks for it."""

    def expected_acceptance(self, siblings: Siblings) -> Tensor:
        """Mean of `sum_u p(u)` over the draw of the sampled children, whose tokens it must not use, `[n]`."""
        ...


@runtime_checkable
class BoundedRule(Rule, Protocol):
    """A rule that is too slow for large vocabularies and says so before work starts."""

    def check_vocabulary(self, size: int, law: str, sampled: int) -> None:
        """Raise a ValueError that tells the limit if a node with so many sampled children is too large."""
        ...


def without_replacement(law: str, fixed: int, sampled: int) -> bool:
    """Whether children were drawn without replacement: any law but `iid`, and `iid` too where it drew only once."""
    return law != "iid" or (fixed == 0 and sampled <= 1)
