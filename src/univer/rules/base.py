"""One-step rules: the problem, the answer, and the interface."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from torch import Tensor


@dataclass(frozen=True)
class Siblings:
    """The one-step problem at `n` nodes that have equal numbers of fixed and sampled children.

    At each node the augmented target is `T(x) = a P(x)` on tokens and `T(REJ) = 1 - a`.

    Attributes:
        target: `P`, `[n, V]`, float32 or float64.
        draft: `S`, the distribution of the first sampled child (`Q` without fixed and dropped tokens, renormalised),
            `[n, V]` in the dtype of the target; None where no child is sampled.
        scale: the prefix scale `a`, `[n]` in the dtype of the target.
        tokens: children in the order drawn, fixed ones first, `[n, fixed + sampled]`, int64.
        fixed: number of fixed children.
        law: name of the sampling scheme of the tree.
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

    def sampling_distribution(self) -> Tensor:
        """`S`, `[n, V]`, at nodes with a sampled child."""
        assert self.draft is not None, "a node with sampled children has a draft distribution"
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
        rejected: `p(REJ)`, `[n]`.
    """

    children: Tensor
    residual: Tensor
    rejected: Tensor


@runtime_checkable
class Rule(Protocol):
    """A lossless coupling between the drawn children of one node and one outcome.

    Both methods answer for all nodes of a `Siblings` at once, on its device and in its dtype, and leave it unchanged.

    Attributes:
        draft_law: the sampling scheme that the rule is made for, a name of `univer.tree.DRAFT_LAWS`.
    """

    draft_law: str

    def fits(self, law: str, fixed: int, sampled: int) -> bool:
        """Whether the rule takes a node.

        Args:
            law: the sampling scheme of the tree.
            fixed: number of fixed children of the node.
            sampled: number of its sampled children.
        """
        ...

    def couple(self, siblings: Siblings) -> Coupling:
        """Probabilities of the outcomes given the drawn children; they sum to 1 at every node."""
        ...

    def residual(self, siblings: Siblings) -> Tensor:
        """Distribution of the residual outcomes up to a factor, a new tensor `[n, V]`."""
        ...


@runtime_checkable
class ForesightRule(Rule, Protocol):
    """A rule with a known expected acceptance, which the sibling order `gain` needs."""

    def expected_acceptance(self, siblings: Siblings) -> Tensor:
        """Mean of `sum_u p(u)` over the draw of the sampled children, whose tokens it must not use, `[n]`."""
        ...


@runtime_checkable
class BoundedRule(Rule, Protocol):
    """A rule that only works for small vocabularies, which is checked before generation starts."""

    def check_vocabulary(self, size: int, law: str, sampled: int) -> None:
        """Raise if a node is too large for the rule.

        Args:
            size: number of tokens.
            law: the sampling scheme of the tree.
            sampled: number of sampled children of the node.

        Raises:
            ValueError: with the limit.
        """
        ...


def without_replacement(law: str, fixed: int, sampled: int) -> bool:
    """Whether a node's children were drawn without replacement.

    Any scheme but `iid` does that, and `iid` where it drew only once.

    Args:
        law: the sampling scheme of the tree.
        fixed: number of fixed children.
        sampled: number of sampled children.
    """
    return law != "iid" or (fixed == 0 and sampled <= 1)
