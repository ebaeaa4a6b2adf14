"""What a draft is: something that proposes a tree of tokens for a text, round after round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from univer.tree import DraftTree

if TYPE_CHECKING:
    from univer.drafting.builder import TreeBuilder
    from univer.drafting.growth.base import Growth
    from univer.drafting.readings import Proposal
    from univer.engine.branches import BranchProcessors


@dataclass(frozen=True)
class DraftRequest:
    """What a draft is told about a request before its first round.

    Attributes:
        vocabulary: number of token ids of the target; no larger id may be proposed.
        device: where the target's laws lie; the draft laws of a tree are to lie there too.
        laws: turns the draft's logits `[n, V]` and the name of the step into the rows `Q_v`: float32, the very rows
            that children are drawn from. It treats every token alike, whatever its column, so that a draft may call it
            on the part of the vocabulary that it scores.
        generator: source of all randomness, on the CPU.
        branching: whether trees may have more than one node on a level.
        max_length: largest number of tokens, prompt included, that the text can reach.
        features: the target's hidden states `[n, k * H]` after each token of the prompt, those of the layers that the
            draft asked for side by side; None if it asked for none.
        repeated: whether several trees are drafted below every text, so that what was read for one of them is worth
            keeping for the next.
        processors: those of the request, applied to logits `[n, V]` over the target's whole vocabulary; None if it has
            none. What they do to the draft is a matter of speed alone: a token that they forbid is not worth a node.
        shared: what the sessions of one engine have in common, such as a cache for several texts, by the draft that put
            it there.
    """

    vocabulary: int
    device: torch.device
    laws: Callable[[Tensor, str], Tensor]
    generator: torch.Generator
    branching: bool
    max_length: int
    features: Tensor | None = None
    repeated: bool = False
    processors: BranchProcessors | None = None
    shared: dict[Any, Any] = field(default_factory=dict)

    def rows(
        self, logits: Tensor, step: str, committed: Sequence[int], tree: TreeBuilder, nodes: Sequence[int]
    ) -> Tensor:
        """The rows `Q_v` of some nodes, processed and warped: the very rows that their children are drawn from.

        Args:
            logits: the draft's `[n, D]`, by the columns of the tree.
            step: what produced them, named in error messages.
            committed: all committed token ids.
            tree: the tree while it grows.
            nodes: `n` node ids; the root comes first of all, parents before their children.

        Returns:
            `[n, D]`, float32.
        """
        if self.processors is None:
            return self.laws(logits, step)
        whole = tree.columns.spread(logits.to(self.device), self.vocabulary)
        processed = tree.columns.pick(self.processors(committed, [tree.path(node) for node in nodes], whole).scores)
        # Where all that they leave lies outside the draft's vocabulary, its own row serves.
        empty = processed.amax(-1, keepdim=True) == float("-inf")
        return self.laws(processed.where(~empty, logits.to(processed)), step)


class DraftSession(Protocol):
    """A draft at work on one request; everything that changes between rounds lives here.

    A session may have more. `proposal(committed, growth)` is `propose` as a generator of `Reading`s, so that the passes
    of a draft model serve several texts at once; where `side_by_side` is true, several proposals below one text may be
    advanced in turn. `close()` is called when the text leaves its engine.

    Attributes:
        passes: number of forward passes of a draft model so far.
    """

    @property
    def passes(self) -> int: ...

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree:
        """Draft a tree below the last committed token.

        Args:
            committed: all committed token ids, prompt included.
            growth: decides which nodes are expanded and with which slots. A session may leave slots empty, down to a
                tree of the root alone.

        Returns:
            A tree drawn by the law `growth.law`.
        """
        ...

    def settle(self, path: Sequence[int], features: Tensor | None = None) -> None:
        """Learn which nodes of the last tree were kept. Called after every round, also one without a proposal.

        Args:
            path: node ids from the root's child down, possibly none.
            features: the target's hidden states `[n, k * H]` after the tokens that it has read for good since the last
                call, in a round those of the root and of the kept nodes; None if there are none, as after a tree that
                was drafted on trial, or if the draft did not ask for them.
        """
        ...


@runtime_checkable
class Draft(Protocol):
    """A source of trees. It keeps no state of a request: that is its sessions' task.

    Attributes:
        name: how the draft is called in reports.
        fixed_only: True if it proposes tokens without randomness, so that its trees have fixed children only.
        models: the language models that it runs, if any.
        features: which of the target's hidden states it wants to be given, see `univer.runtime.features.FeatureTap`;
            none for most drafts.
    """

    @property
    def name(self) -> str: ...

    @property
    def fixed_only(self) -> bool: ...

    @property
    def models(self) -> Sequence[Any]: ...

    @property
    def features(self) -> tuple[int, ...]: ...

    def start(self, request: DraftRequest) -> DraftSession:
        """Begin a request.

        Raises:
            ValueError: the draft cannot serve it.
        """
        ...


def proposal_of(session: DraftSession, committed: Sequence[int], growth: Growth) -> Proposal[DraftTree]:
    """The proposal of a session, which has no readings where the session can only `propose`.

    Args:
        session: the session.
        committed: as for `DraftSession.propose`.
        growth: likewise.
    """
    if _has_proposal(type(session)):
        tree: DraftTree = yield from session.proposal(committed, growth)  # type: ignore[attr-defined]
        return tree
    return session.propose(committed, growth)


def _has_proposal(kind: type) -> bool:
    """Whether sessions of a class have a `proposal` that does what their `propose` does.

    One that was inherited does not, where `propose` has been overridden since.
    """
    for base in kind.__mro__:
        if "proposal" in vars(base):
            return True
        if "propose" in vars(base):
            return False
    return False


def close_session(session: DraftSession | None) -> None:
    """Tell a session that its text has left the engine, if it wants to know."""
    close = getattr(session, "close", None)
    if close is not None:
        close()


def fit_vocabulary(logits: Tensor, size: int) -> Tensor:
    """Cut rows of draft logits to the target's vocabulary, or extend them by tokens of probability zero.

    Args:
        logits: `[n, W]`.
        size: number of token ids of the target.

    Returns:
        `[n, size]`; the law of such a row is the draft's law without foreign ids, renormalised.

    Example:
        >>> fit_vocabulary(torch.tensor([[1.0, 2.0]]), 3)
        tensor([[1., 2., -inf]])
    """
    width = logits.shape[-1]
    if width >= size:
        return logits[..., :size]
    return torch.nn.functional.pad(logits, (0, size - width), value=float("-inf"))
