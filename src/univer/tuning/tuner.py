"""Tuning from start to end: costs, sample texts, acceptance, plans, candidates, a choice, and a check of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from statistics import median
from typing import Any

import torch
from torch import Tensor

from univer.drafting.base import Draft
from univer.drafting.eagle.shipped import fingerprint
from univer.drafting.growth import Static, TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.drafting.shapes import Shape
from univer.engine import generate
from univer.engine.contexts import Context, ContextSettings, SampledText, drafted_trees, sample_text
from univer.engine.plan import TreePlan
from univer.engine.stopping import eos_tokens
from univer.methods import resolve
from univer.models.catalogue import model_name
from univer.models.machine import machine
from univer.tuning.acceptance import AcceptanceCounts
from univer.tuning.alternating import AlternatingPolicy
from univer.tuning.candidates import Candidate, list_candidates, plain_candidate
from univer.tuning.check import Check
from univer.tuning.costs import Costs, cost_shapes, fit_costs
from univer.tuning.planner import Plan, best_plans, fastest
from univer.tuning.profile import Profile, dtype_name
from univer.tuning.settings import TuneSettings
from univer.tuning.timing import Timings, time_rounds
from univer.verdict import end_distribution

# Called with the finished parts of a stage and the number of all its parts.
Progress = Callable[[int, int], None]

# Number of depths at which acceptance is distinguished.
DEPTHS = 6
# Number of candidates whose real rounds are timed.
SHORTLIST = 6
# Rounds by which the timing of one candidate is drawn towards the mean of all candidates.
PRIOR = 5
# Length of the texts that speeds refer to: the default of `univer generate`.
TEXT_TOKENS = 128
# For the forecast of the time: rounds of the trial, and the usual number of candidates.
TRIAL_ROUNDS, CANDIDATES = 3, 13
# Tokens of a text before the check that is not measured.
WARM_UP_TOKENS = 4
# Time in rounds of a timed round (with a plain one beside it), of a token of a text, of counting acceptance on a tree,
# and of one of several trees on the same context.
TIMED, TOKEN, COUNTED, SHARED = 2.5, 0.5, 4.0, 0.33


@dataclass
class Tuning:
    """Everything found so far. It is usable at any moment, so an interruption loses nothing.

    Attributes:
        target: a causal language model.
        draft: the draft.
        settings: what to tune for.
        draft_text: the draft as the user named it.
        target_text: the target as the user named it.
        timings: timed rounds of the shapes that costs are measured on.
        costs: seconds of every part of a round.
        counts: acceptance by position.
        plans: planned trees, the best of every depth, with the tokens per second that the planner expects.
        candidates: candidates measured on the contexts.
        chosen: the fastest candidate, which may be plain decoding.
        check: prediction and measurement on other prompts.
        texts: texts sampled from the target, with the places at which trees are drafted.
        prompts: numbers of tokens of their prompts.
    """

    target: Any
    draft: Draft
    settings: TuneSettings
    draft_text: str = ""
    target_text: str = ""
    timings: Timings = field(default_factory=Timings)
    costs: Costs | None = None
    counts: AcceptanceCounts | None = None
    plans: list[tuple[Plan, float]] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    chosen: Candidate | None = None
    check: Check = field(default_factory=Check)
    texts: list[SampledText] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = self.settings
        # Raises before anything is measured if method, order and draft do not fit each other.
        plan = TreePlan(None, self.draft, settings.method, settings.options.order, greedy=settings.greedy)
        self._law = plan.law
        self._method = resolve("membership") if self._law == "fixed" else settings.method

    def run(
        self,
        fit: Sequence[Tensor],
        held_out: Sequence[Tensor],
        progress: Callable[[str, int, int], None] = lambda *_: None,
        estimate: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        """Measure, choose and check.

        Args:
            fit: prompts `[1, L]` to measure on, at least one.
            held_out: other prompts to check the forecast on; none for no check.
            progress: called with the name of the current stage, and the work done and the work of all stages in rounds.
            estimate: called once, before the work starts, with the seconds that it is expected to take.
        """
        settings = self.settings
        shapes = cost_shapes(self._law, settings.max_nodes)
        places = len(fit) * settings.contexts
        work = {
            "costs": TIMED * len(shapes) * (settings.repeats + 1),
            "sample texts": TOKEN * len(fit) * settings.new_tokens,
            "acceptance": COUNTED * places,
            "candidates": SHARED * CANDIDATES * places,
            "fastest candidates": TIMED * SHORTLIST * (2 * settings.repeats + 1),
            "check": TOKEN * len(held_out) * settings.new_tokens,
        }
        total = sum(work.values())

        def stage(name: str) -> Progress:
            before = sum(list(work.values())[: list(work).index(name)])
            return lambda done, parts: progress(name, round(before + work[name] * done / parts), round(total))

        typical = Static(shapes[len(shapes) // 2])
        trial = time_rounds(self.target, self.draft, fit[:1], [typical], vars(settings.options), repeats=TRIAL_ROUNDS)
        estimate(total * median(timed.total for timed in trial.rounds))
        self._measure_costs(fit, shapes, stage("costs"))
        self._sample_texts(fit, stage("sample texts"))
        self._count_acceptance(stage("acceptance"))
        self._plan()
        self.measure(self.candidates, stage("candidates"))
        self._add_constant_size()
        self.candidates.append(plain_candidate(len(self.prompts)))
        self._choose(fit, stage("fastest candidates"))
        self._check(held_out, stage("check"))

    @property
    def target_name(self) -> str:
        """Name of the target in reports."""
        return self.target_text or model_name(self.target)

    def speed(self, candidate: Candidate) -> float:
        """Return the expected tokens per second of a candidate on texts of `TEXT_TOKENS` tokens, prefill included."""
        assert self.costs is not None, "candidates are measured after costs"
        return candidate.forecast(self.costs, self.prompts).speed(self.costs, TEXT_TOKENS)

    @property
    def plain_speed(self) -> float | None:
        """Expected tokens per second of plain decoding on such texts; None before costs and texts are known."""
        return self.speed(plain_candidate(len(self.prompts))) if self.costs is not None and self.prompts else None

    @property
    def default(self) -> Candidate | None:
        """The candidate that `generate` uses if no tree is named; None if it was not measured."""
        return next((entry for entry in self.candidates if entry.source == "default" and entry.rounds), None)

    def ranked(self) -> list[Candidate]:
        """Return the measured candidates, the fastest first."""
        return sorted((entry for entry in self.candidates if entry.rounds), key=self.speed, reverse=True)

    def profile(self, interrupted: bool = False) -> Profile:
        """Return everything in the form that is written to a file."""
        settings, chosen, default = self.settings, self.chosen, self.default
        described = {
            "target": self.target_name,
            "fingerprint": fingerprint(self.target),
            "draft": self.draft_text or self.draft.name,
            "draft_name": self.draft.name,
            "dtype": dtype_name(self.target),
            "device": self.target.device.type,
            **settings.to_dict(),
            "machine": machine(),
        }
        return Profile(
            described,
            chosen.tree if chosen else None,
            chosen.forecast(self.costs, self.prompts) if chosen and self.costs else None,
            self.costs,
            {
                "interrupted": interrupted,
                "text_tokens": TEXT_TOKENS,
                "prompt_tokens": self.prompts,
                "predicted_tokens_per_second": self.speed(chosen) if chosen else None,
                "default_tokens_per_second": self.speed(default) if default else None,
                "plain_tokens_per_second": self.plain_speed,
                "acceptance": self.counts.table() if self.counts else [],
                "candidates": [self._row(entry) for entry in self.ranked()],
                "check": self.check.to_dict(),
            },
        )

    def _row(self, candidate: Candidate) -> dict[str, Any]:
        assert self.costs is not None, "candidates are measured after costs"
        forecast = candidate.forecast(self.costs, self.prompts)
        return {
            "tree": candidate.tree,
            "source": candidate.source,
            "nodes": candidate.mean_nodes,
            "tau": forecast.tau,
            "round_seconds": forecast.round_seconds,
            "tokens_per_second": self.speed(candidate),
            "decoding_tokens_per_second": forecast.decoding_speed,
        }

    def _measure_costs(self, prompts: Sequence[Tensor], shapes: Sequence[Shape], progress: Progress) -> None:
        settings = self.settings
        try:
            time_rounds(
                self.target,
                self.draft,
                prompts,
                [Static(shape) for shape in shapes],
                vars(settings.options),
                repeats=settings.repeats,
                seed=settings.seed,
                progress=progress,
                into=self.timings,
            )
        finally:
            if self.timings.rounds:
                self.costs = fit_costs(self.timings)

    @property
    def _context_settings(self) -> ContextSettings:
        settings, options = self.settings, self.settings.options
        return ContextSettings(
            sampling=options.sampling,
            draft_sampling=options.effective_draft_sampling,
            places=settings.contexts,
            new_tokens=settings.new_tokens,
            drafted=1,
            generation_config=options.generation_config,
        )

    def _sample_texts(self, prompts: Sequence[Tensor], progress: Progress) -> None:
        settings, options = self.settings, self.settings.options
        config = options.generation_config or getattr(self.target, "generation_config", None)
        ends = eos_tokens("config", config)
        for number, ids in enumerate(prompts):
            text = sample_text(self.target, self.draft, ids, self._context_settings, seed=settings.seed + number)
            self.texts.append(until_end(text, ids.shape[1], ends))
            self.prompts.append(ids.shape[1])
            progress(number + 1, len(prompts))

    def _count_acceptance(self, progress: Progress) -> None:
        self.counts = AcceptanceCounts(
            self._method, self._law, min(DEPTHS, self.settings.max_depth), self.settings.width
        )
        generator = torch.Generator().manual_seed(self.settings.seed)
        for _, policy, context in self._drafted([parse_tree(self.counts.probe())], progress):
            self.counts.add(context.tree, context.target, policy.records[-1].expanded, generator)

    def measure(self, candidates: Sequence[Candidate], progress: Progress = lambda done, total: None) -> None:
        """Measure candidates on the same contexts and record the results in them.

        The expected tokens of a round follow from its exact outcome distribution. Policies that learn from verdicts get
        one that is drawn from this distribution; they start anew on each text.

        Args:
            candidates: the candidates.
            progress: called with the number of finished trees and the number of all.
        """
        generator = torch.Generator()
        drafted = self._drafted([candidate.policy for candidate in candidates], progress)
        for candidate, (number, policy, context) in zip(cycle(candidates), drafted, strict=False):
            tree, rounds = context.tree, candidate.rounds
            ends = end_distribution(tree, context.target, self._method, self.settings.options.order).double().cpu()
            tau = 1 + float(ends @ torch.from_numpy(tree.topology.depths).double())
            if number < len(rounds):
                rounds[number].append((tau, policy.records[-1]))
            else:
                rounds.append([(tau, policy.records[-1])])
            generator.manual_seed(self.settings.seed + context.place)
            policy.settle(tree, tree.topology.path(int(ends.multinomial(1, generator=generator))))

    def _drafted(
        self, policies: Sequence[TreePolicy], progress: Progress
    ) -> Iterator[tuple[int, AlternatingPolicy, Context]]:
        """Draft trees of all policies, one after the other, at every place of every text, given by its number."""
        recorded = [AlternatingPolicy((policy,)) for policy in policies]
        total, done = sum(len(text.places) for text in self.texts) * len(policies), 0
        for number, text in enumerate(self.texts):
            trees = drafted_trees(
                self.target,
                self.draft,
                text,
                [(policy, self._law) for policy in recorded],
                self._context_settings,
                seed=self.settings.seed + number,
                leaves=True,
            )
            for policy, context in zip(cycle(recorded), trees, strict=False):
                yield number, policy, context
                done += 1
                progress(done, total)

    def _plan(self) -> None:
        settings = self.settings
        assert self.costs is not None, "costs were measured before"
        assert self.counts is not None, "acceptance was counted before"
        chances = self.counts.table()
        rated = fastest(best_plans(chances, settings.max_nodes, settings.max_depth), self.costs.round_seconds)
        of_depth: dict[int, tuple[Plan, float]] = {}
        for plan, speed in rated:
            of_depth.setdefault(len(plan.widths), (plan, speed))
        self.plans = list(of_depth.values())
        self.candidates = list_candidates(
            self.plans,
            self.costs,
            self.draft,
            settings.method,
            settings.options.order,
            settings.max_nodes,
            greedy=settings.greedy,
        )

    def _add_constant_size(self) -> None:
        """Measure the best candidate `grow` once more, with its mean size kept constant in every request."""
        for entry in self.ranked():
            if entry.source == "grow":
                constant = Candidate(f"{entry.tree},mean={max(1.0, entry.mean_nodes):.3g}", entry.source)
                self.measure([constant])
                self.candidates.append(constant)
                return

    def _choose(self, prompts: Sequence[Tensor], progress: Progress) -> None:
        """Time real rounds of the most promising candidates and take the fastest."""
        settings, costs = self.settings, self.costs
        assert costs is not None, "costs were measured before"
        ranked = [entry for entry in self.ranked() if entry.source != "plain"]
        shortlist: list[Candidate] = []
        best_of_sources = {entry.source: entry for entry in reversed(ranked)}.values()
        for entry in [*best_of_sources, *ranked]:
            if entry not in shortlist and len(shortlist) < SHORTLIST:
                shortlist.append(entry)
        timings = time_rounds(
            self.target,
            self.draft,
            prompts,
            [entry.policy for entry in shortlist],
            vars(settings.options),
            repeats=2 * settings.repeats,
            seed=settings.seed,
            progress=progress,
        )
        ratios: list[list[float]] = [[] for _ in shortlist]
        for timed in timings.rounds:
            ratios[timed.policy].append(timed.total / costs.round_seconds(timed.nodes, timed.widths))
        common = median(ratio for measured in ratios for ratio in measured)
        # Drawing each factor towards the common one keeps a lucky timing from deciding the choice.
        factors = [
            (len(measured) * median(measured) + PRIOR * common) / (len(measured) + PRIOR) if measured else common
            for measured in ratios
        ]
        for candidate in ranked:
            candidate.factor = factors[shortlist.index(candidate)] if candidate in shortlist else common
        plain = [entry for entry in self.candidates if entry.source == "plain"]
        self.chosen = max([*shortlist, *plain], key=self.speed)

    def _check(self, prompts: Sequence[Tensor], progress: Progress) -> None:
        """Generate texts with the chosen tree and compare their speed with the forecast."""
        settings, costs, check = self.settings, self.costs, self.check
        assert self.chosen is not None, "a tree was chosen before"
        assert costs is not None, "costs were measured before"
        forecast = self.chosen.forecast(costs, self.prompts)
        request = {**vars(settings.options), "tree": self.chosen.policy, "max_new_tokens": settings.new_tokens}
        for number, ids in enumerate(prompts):
            request["seed"] = settings.seed + number
            if number == 0:
                generate(self.target, self.draft, ids, **{**request, "max_new_tokens": WARM_UP_TOKENS})
            stats = generate(self.target, self.draft, ids, **request).stats
            check.prompts.append(stats.prompt_tokens)
            check.tokens.append(stats.new_tokens)
            check.rounds.append(len(stats.rounds))
            check.measured.append(stats.total_seconds)
            check.predicted.append(stats.new_tokens / forecast.speed(costs, stats.new_tokens, [stats.prompt_tokens]))
            if stats.tau is not None:
                check.taus.append(stats.tau)
            progress(number + 1, len(prompts))


def until_end(text: SampledText, start: int, ends: frozenset[int]) -> SampledText:
    """Drop the places of a text after its end, where `generate` would have stopped.

    Args:
        text: a text that continues after its end.
        start: number of tokens of the prompt.
        ends: end-of-sequence ids.

    Example:
        >>> until_end(SampledText((5, 6, 7, 2, 8, 9), (2, 3, 5)), 1, frozenset({2})).places
        (2, 3)
    """
    end = next((place for place in range(start, len(text.tokens)) if text.tokens[place] in ends), len(text.tokens))
    return SampledText(text.tokens, tuple(place for place in text.places if place <= end) or text.places[:1])
