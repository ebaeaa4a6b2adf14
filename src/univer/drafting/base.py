"""The interface of a draft: a source that proposes a tree of tokens, round after round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from univer.drafting.growth.base import Growth
from univer.drafting.proposals import Proposal
from univer.drafting.request import DraftRequest
from univer.tree import DraftTree

__all__ = ["Draft", "DraftRequest", "DraftSession"]


class DraftSession(ABC):
    """A draft working on one request; everything that changes between rounds is kept here.

    `propose` is all that a session must have; the other methods do nothing by default.

    Attributes:
        passes: number of forward passes of a draft model so far.
        concurrent: whether several proposals below one prefix may be advanced in turn.
        max_length: largest number of tokens, those of a branch included, that the draft reads; longer ones are not
            asked for. None where there is no limit.
    """

    passes: int = 0
    concurrent: bool = False
    max_length: int | None = None

    @abstractmethod
    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree | Proposal[DraftTree]:
        """Draft a tree below the last committed token.

        A session without a model returns the tree. One that runs a model may be a generator instead, which yields the
        `PassInput` of every pass, is sent its output, and returns the tree: one pass then serves several sequences.

        Args:
            committed: all committed token ids, prompt included.
            growth: chooses the nodes to expand and their slots. A session may leave slots empty, down to a tree of the
                root alone.

        Returns:
            A tree drawn with the sampling scheme `growth.law`.
        """

    def settle(self, path: Sequence[int], features: Tensor | None = None) -> None:
        """Learn which nodes of the last tree were accepted. Called after every round, also one without a proposal.

        Args:
            path: node ids from the root's child down, possibly none.
            features: the target's hidden states `[n, k * H]` after the tokens that it has committed since the last
                call, in a round those of the root and of the accepted nodes; None if the draft did not ask for them, or
                if the tree was drafted on trial.
        """

    def finish(self, committed: Sequence[int]) -> None:
        """Learn the finished sequence. Called once at its end, not for one that was cancelled.

        Args:
            committed: all token ids, prompt included.
        """

    def close(self) -> None:
        """Release what the session holds. Called when the sequence leaves its engine."""


class Draft(ABC):
    """A source of trees. It keeps no state of a request; that is the task of its sessions.

    Attributes:
        name: what the draft is called in reports.
        fixed_only: whether it proposes tokens without randomness, so that its trees have fixed children only.
        models: the language models that it runs, if any.
        features: the target's hidden states that it needs, see `univer.runtime.features.FeatureTap`; none for most
            drafts.
        suggested_tree: the tree to draft where a request names none, as text; None for the default of all drafts.
    """

    name: str
    fixed_only: bool = False
    models: Sequence[Any] = ()
    features: tuple[int, ...] = ()
    suggested_tree: str | None = None

    @abstractmethod
    def start(self, request: DraftRequest) -> DraftSession:
        """Start a request.

        Raises:
            ValueError: the draft cannot serve it.
        """
