"""Acceptance of trees on contexts from sample texts, from exact outcome distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from univer.drafting.base import Draft
from univer.drafting.growth.parse import parse_tree
from univer.engine.contexts import Context, ContextSettings, SampledText, drafted_trees
from univer.engine.options import Options
from univer.methods import Method
from univer.tuning.acceptance import AcceptanceCounts
from univer.tuning.alternating import AlternatingPolicy
from univer.tuning.candidates import Candidate
from univer.verdict import end_distribution

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Contexts:
    """Places in texts sampled from the target at which trees are drafted.

    Attributes:
        target: a causal language model.
        draft: the draft.
        texts: the texts with the places.
        method: the verification method.
        law: sampling scheme of the trees.
        options: give the sibling order and the sampling settings.
        seed: random seed of all draws.
    """

    target: Any
    draft: Draft
    texts: Sequence[SampledText]
    method: Method
    law: str
    options: Options
    seed: int

    def count(self, counts: AcceptanceCounts, progress: Progress = lambda done, total: None) -> None:
        """Count acceptance by position; see `AcceptanceCounts`.

        Args:
            counts: counts to add to.
            progress: called with the number of finished trees and the number of all.
        """
        policy = AlternatingPolicy((parse_tree(counts.probe()),))
        generator = torch.Generator().manual_seed(self.seed)
        total, done = sum(len(text.places) for text in self.texts), 0
        for number, text in enumerate(self.texts):
            for context in self._trees(number, text, [policy]):
                counts.add(context.tree, context.target, policy.records[-1].expanded, generator)
                done += 1
                progress(done, total)

    def measure(self, candidates: Sequence[Candidate], progress: Progress = lambda done, total: None) -> None:
        """Measure candidates on the same contexts and record the results in them.

        The expected tokens of a round follow from its exact outcome distribution. Policies that learn from verdicts get
        one that is drawn from this distribution; they start anew on each text.

        Args:
            candidates: the candidates.
            progress: called with the number of finished trees and the number of all.
        """
        policies = [AlternatingPolicy((candidate.policy,)) for candidate in candidates]
        generator = torch.Generator()
        total, done = sum(len(text.places) for text in self.texts) * len(candidates), 0
        for number, text in enumerate(self.texts):
            found: list[list[tuple[float, int, tuple[int, ...]]]] = [[] for _ in candidates]
            for index, context in enumerate(self._trees(number, text, policies)):
                place = index % len(candidates)
                policy, tree = policies[place], context.tree
                ends = end_distribution(tree, context.target, self.method, self.options.order).double().cpu()
                accepted = float(ends @ torch.from_numpy(tree.topology.depths).double())
                record = policy.records[-1]
                found[place].append((1 + accepted, record.nodes, record.widths))
                generator.manual_seed(self.seed + context.place)
                policy.settle(tree, tree.topology.path(int(ends.multinomial(1, generator=generator))))
                done += 1
                progress(done, total)
            for candidate, measured in zip(candidates, found, strict=True):
                taus, nodes, widths = zip(*measured, strict=True)
                candidate.taus.append(list(taus))
                candidate.nodes.append(list(nodes))
                candidate.widths.append(list(widths))

    def _trees(self, number: int, text: SampledText, policies: Sequence[AlternatingPolicy]) -> Iterator[Context]:
        return drafted_trees(
            self.target,
            self.draft,
            text,
            [(policy, self.law) for policy in policies],
            ContextSettings(sampling=self.options.sampling, draft_sampling=self.options.draft_laws, drafted=1),
            seed=self.seed + number,
            leaves=True,
        )
