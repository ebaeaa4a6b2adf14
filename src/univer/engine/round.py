"""One round: draft a tree, read it with the target in one pass, decide, keep the accepted path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from univer.drafting.base import DraftSession
from univer.drafting.growth import Growth
from univer.engine.decision import Decision
from univer.engine.runner import TreeRunner
from univer.engine.stats import PhaseClock
from univer.tree import DraftTree
from univer.verdict import Verdict


@dataclass(frozen=True)
class Round:
    """The parts that every round of a request shares.

    Attributes:
        target: the target and its cache.
        draft: the draft at work, or None for plain decoding.
        decide: turns logits into a verdict.
        clock: takes the time of each phase.
        draft_name: name of the draft for error messages.
        vocabulary: number of token ids of the target.
    """

    target: TreeRunner
    draft: DraftSession | None
    decide: Decision
    clock: PhaseClock
    draft_name: str
    vocabulary: int

    def play(self, committed: Sequence[int], growth: Growth, step: str) -> tuple[DraftTree, Verdict]:
        """Play one round.

        Args:
            committed: all committed tokens; the target's cache holds all but the last, which is the root of the tree.
            growth: how to draft; one without levels is a plain step, for which the draft is not asked.
            step: name of the round for error messages.

        Returns:
            The drafted tree and the verdict on it; both caches hold the accepted path afterwards.

        Raises:
            ValueError: the draft proposed something else than a tree below the text.
        """
        drafting = self.draft is not None and growth.depth > 0
        if self.draft is not None and drafting:
            tree = self.draft.propose(committed, growth)
            tokens = self._checked_tokens(tree, committed[-1])
        else:
            tokens = [committed[-1]]
            tree = DraftTree(tokens, [-1], ["root"], None, growth.law)
        self.clock.charge("draft")
        logits = self.target.read_nodes(tokens, tree.parents)
        self.clock.charge("target")
        verdict = self.decide(tree, logits, self.clock, step)
        kept = [0, *verdict.path]
        self.target.keep(kept)
        if self.draft is not None:
            features = self.target.features
            self.draft.settle(verdict.path, None if features is None else features[kept])
        self.clock.charge("cache")
        return tree, verdict

    def _checked_tokens(self, tree: object, last: int) -> list[int]:
        """The tokens of a proposal that hangs below the text, whose last token is `last`."""
        if not isinstance(tree, DraftTree):
            raise ValueError(f"the draft {self.draft_name!r} proposed a {type(tree).__name__}, not a DraftTree")
        tokens: list[int] = tree.tokens.tolist()
        if tokens[0] != last:
            raise ValueError(
                f"the draft {self.draft_name!r} proposed a tree below token {tokens[0]}, the text ends with {last}: "
                "the root of a tree is the last committed token"
            )
        if min(tokens) < 0 or max(tokens) >= self.vocabulary:
            outside = next(token for token in tokens if not 0 <= token < self.vocabulary)
            raise ValueError(
                f"the draft {self.draft_name!r} proposed token {outside}, outside the target's vocabulary of "
                f"{self.vocabulary}"
            )
        return tokens
