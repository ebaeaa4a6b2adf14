"""What trees bring on contexts of sample texts, by exact laws of outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from univer.drafting.base import Draft
from univer.drafting.growth.parse import parse_tree
from univer.engine import Sampling
from univer.engine.contexts import Context, SampledText, drafted_trees
from univer.methods import Method
from univer.tuning.acceptance import AcceptanceCounts
from univer.tuning.candidates import Candidate
from univer.tuning.watch import Turns
from univer.verdict import end_law

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Contexts:
    """Places in texts of the target's own at which trees are drafted.

    Attributes:
        target: a causal language model.
        draft: the draft.
        texts: the texts with the places.
        judge: the method that decides.
        law: draft law of the trees.
        order: sibling order, or None for the method's own.
        sampling: settings of the target's laws.
        draft_sampling: settings of the draft's laws.
        seed: of all draws.
    """

    target: Any
    draft: Draft
    texts: Sequence[SampledText]
    judge: Method
    law: str
    order: str | None
    sampling: Sampling
    draft_sampling: Sampling
    seed: int

    def count(self, counts: AcceptanceCounts, progress: Progress = lambda done, total: None) -> None:
        """Count acceptance by position; see `AcceptanceCounts`.

        Args:
            counts: counts to add to.
            progress: called with the number of trees done and that of all.
        """
        watched = Turns((parse_tree(counts.probe()),))
        generator = torch.Generator().manual_seed(self.seed)
        total, done = sum(len(text.places) for text in self.texts), 0
        for number, text in enumerate(self.texts):
            for context in self._trees(number, text, [watched]):
                counts.add(context.tree, context.laws, watched.log[-1].asked, generator)
                done += 1
                progress(done, total)

    def measure(self, candidates: Sequence[Candidate], progress: Progress = lambda done, total: None) -> None:
        """Measure candidates on the same contexts and note it in them.

        What a round is expected to bring is told from the exact law of its outcome. Policies that learn from verdicts
        are given one, drawn from that law; on each text they begin anew.

        Args:
            candidates: the candidates.
            progress: called with the number of trees done and that of all.
        """
        watched = [Turns((candidate.policy,)) for candidate in candidates]
        generator = torch.Generator()
        total, done = sum(len(text.places) for text in self.texts) * len(candidates), 0
        for number, text in enumerate(self.texts):
            found: list[list[tuple[float, int, tuple[int, ...]]]] = [[] for _ in candidates]
            for turn, context in enumerate(self._trees(number, text, watched)):
                place = turn % len(candidates)
                turns, tree = watched[place], context.tree
                ends = end_law(tree, context.laws, self.judge, self.order).double().cpu()
                accepted = float(ends @ torch.from_numpy(tree.topology.depths).double())
                seen = turns.log[-1]
                found[place].append((1 + accepted, seen.nodes, seen.widths))
                generator.manual_seed(self.seed + context.place)
                turns.started[-1].settle(tree, tree.topology.path(int(ends.multinomial(1, generator=generator))))
                done += 1
                progress(done, total)
            for candidate, own in zip(candidates, found, strict=True):
                taus, nodes, widths = zip(*own, strict=True)
                candidate.taus.append(list(taus))
                candidate.nodes.append(list(nodes))
                candidate.widths.append(list(widths))

    def _trees(self, number: int, text: SampledText, policies: Sequence[Turns]) -> Iterator[Context]:
        return drafted_trees(
            self.target,
            self.draft,
            text,
            [(policy, self.law) for policy in policies],
            sampling=self.sampling,
            draft_sampling=self.draft_sampling,
            trees=1,
            seed=self.seed + number,
        )
