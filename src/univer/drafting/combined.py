"""A model's draft with guesses beside it: fixed children of several sources and sampled ones at one node."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from univer.drafting.base import Draft, DraftRequest, DraftSession
from univer.drafting.builder import TreeBuilder
from univer.drafting.growth import Growth, Guess, NodeSlots
from univer.drafting.growth.base import WrappedGrowth
from univer.drafting.guesses import GuessSource, merge_guesses
from univer.drafting.guessing import Guessing
from univer.drafting.proposals import Proposal
from univer.tree import DraftTree


class CombinedDraft(Draft):
    r"""Draws trees from a model draft whose fixed children may be guesses of other sources as well.

    At every node `v` the model's likeliest tokens and all guesses are merged into one list without duplicates, each
    with the larger of `Q_v` and the guess's confidence, and the growth takes its fixed children `F` from the top of the
    list. Sampled children come from `S_v`, the model's row without all of `F`:

        S_v(x) = Q_v(x) [x not in F] / sum_{y not in F} Q_v(y).

    The row that the rule is given is `Q_v` itself. A guess is chosen before anything is sampled at its node, whatever
    its `Q_v` (0 included), so every rule that takes fixed children stays exact.

    Args:
        draft: gives the rows `Q_v`: an independent model, a self-draft or a head.
        sources: guess sources, at least one.

    Raises:
        ValueError: the draft gives no rows, or there is no source.
    """

    def __init__(self, draft: Draft, sources: Sequence[GuessSource]) -> None:
        if draft.fixed_only:
            raise ValueError(
                f"the draft {draft.name} has no distributions to sample from: combine guess sources by GuessDraft"
            )
        if not sources:
            raise ValueError("a combined draft needs at least one guess source, such as LookupSource()")
        self.draft = draft
        self.sources = tuple(sources)
        self.name = "+".join([draft.name, *(source.name for source in sources)])
        self.models, self.features, self.suggested_tree = draft.models, draft.features, draft.suggested_tree

    def start(self, request: DraftRequest) -> CombinedSession:
        """Start a request of the draft and of all sources."""
        # The model's session starts last: it may hold a row of a cache, which would not be freed if a source failed.
        guessing = Guessing(self.sources, request)
        return CombinedSession(self.draft.start(request), guessing)


class CombinedSession(DraftSession):
    """One request of a `CombinedDraft`: the session of its model, with guesses added at every node."""

    def __init__(self, session: DraftSession, guessing: Guessing) -> None:
        self.session = session
        self.guessing = guessing
        self.max_length = session.max_length

    @property
    def passes(self) -> int:  # type: ignore[override]
        """Number of passes of the model."""
        return self.session.passes

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree | Proposal[DraftTree]:
        """Draft a tree; see `DraftSession.propose`."""
        return self.session.propose(committed, _GuidedGrowth(growth, self.guessing, committed))

    def settle(self, path: Sequence[int], features: Tensor | None = None) -> None:
        """Update the model's session; sources are brought up to date from the committed tokens."""
        self.session.settle(path, features)

    def finish(self, committed: Sequence[int]) -> None:
        """Pass the finished sequence to the model's session and to all sources."""
        self.session.finish(committed)
        self.guessing.finish(committed)

    def close(self) -> None:
        """Close the model's session."""
        self.session.close()


class _GuidedGrowth(WrappedGrowth):
    """A growth that is given the guesses as well; all decisions are those of the growth it wraps."""

    def __init__(self, growth: Growth, guessing: Guessing, committed: Sequence[int]) -> None:
        super().__init__(growth)
        self._guessing = guessing
        self._committed = committed

    def slots(
        self, tree: TreeBuilder, nodes: Sequence[int], rows: Tensor, guesses: Sequence[Sequence[Guess]]
    ) -> list[NodeSlots]:
        own = self._guessing.level(self._committed, tree, nodes)
        merged = [merge_guesses(lists) for lists in zip(guesses, own, strict=True)]
        return super().slots(tree, nodes, rows, merged)
