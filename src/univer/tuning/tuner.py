"""Tuning from start to end: texts, costs, acceptance, plans, candidates, a choice, and a check of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from torch import Tensor

from univer.drafting.base import Draft
from univer.drafting.eagle.shipped import fingerprint
from univer.drafting.growth import Static
from univer.engine.contexts import SampledText, sample_text
from univer.engine.plan import TreePlan
from univer.engine.stopping import eos_tokens
from univer.methods import resolve
from univer.models.catalogue import model_name
from univer.models.machine import machine
from univer.tuning.acceptance import AcceptanceCounts
from univer.tuning.candidates import Candidate, list_candidates, plain_candidate, with_mean
from univer.tuning.check import Check, check_forecast
from univer.tuning.contexts import Contexts
from univer.tuning.costs import Costs, cost_shapes, fit_costs
from univer.tuning.planner import Plan, best_plans, fastest
from univer.tuning.profile import Profile, dtype_name
from univer.tuning.settings import TuneSettings
from univer.tuning.timing import Timings, time_rounds

# Depths at which acceptance is told apart.
DEPTHS = 6
# Candidates whose real rounds are timed.
SHORTLIST = 6
# Rounds that count for the mean of all candidates where the time of one is told.
LEAN = 5
# Length of the texts that speeds are told for: what `univer generate` writes unless told otherwise.
TEXT_TOKENS = 128

Tell = Callable[[str, int, int], None]


@dataclass
class Tuning:
    """Everything found so far; it is complete at any moment, so that an interruption loses nothing.

    Attributes:
        target: a causal language model.
        draft: the draft.
        settings: what to tune for.
        draft_text: how the caller named the draft.
        target_text: how the caller named the target.
        timings: timed rounds of the cost shapes.
        costs: seconds of every part of a round.
        counts: acceptance by position.
        plans: planned trees, the best of every depth, with the speed that the programme sees.
        candidates: candidates measured on the contexts.
        chosen: the fastest of them, plain decoding among them.
        check: forecast and measurement on other prompts.
        prompts: tokens of the prompts that contexts are taken from.
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
    prompts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = self.settings
        # Refused here, before anything is measured.
        plan = TreePlan(None, self.draft, settings.method, settings.order, greedy=settings.sampling.greedy)
        self._law = plan.law
        self._judge = resolve("membership") if self._law == "fixed" else settings.method

    def run(self, fit: Sequence[Tensor], held_out: Sequence[Tensor], tell: Tell = lambda *_: None) -> None:
        """Measure, choose and check.

        Args:
            fit: prompts `[1, L]` to measure on, at least one.
            held_out: other prompts to check the forecast on; none for no check.
            tell: called with the name of the work, the number of parts done and that of all.
        """
        settings = self.settings
        self._measure_costs(fit, tell)
        contexts = Contexts(
            self.target,
            self.draft,
            self._texts(fit, tell),
            self._judge,
            self._law,
            settings.order,
            settings.sampling,
            settings.draft_sampling,
            settings.seed,
        )
        self.counts = AcceptanceCounts(self._judge, self._law, min(DEPTHS, settings.max_depth), settings.width)
        contexts.count(self.counts, lambda done, total: tell("acceptance", done, total))
        self._plan()
        contexts.measure(self.candidates, lambda done, total: tell("candidates", done, total))
        self._hold_mean(contexts)
        self.candidates.append(plain_candidate(len(self.prompts)))
        self._choose(fit, tell)
        self._check(held_out, tell)

    @property
    def target_name(self) -> str:
        """How the target is called in reports."""
        return self.target_text or model_name(self.target)

    def speed(self, candidate: Candidate) -> float:
        """Expected tokens per second of a candidate on texts of `TEXT_TOKENS`, prompts included."""
        assert self.costs is not None, "candidates are measured after costs"
        return candidate.forecast(self.costs, self.prompts).speed(self.costs, TEXT_TOKENS)

    @property
    def plain_speed(self) -> float | None:
        """Tokens per second of plain decoding on such texts; None before costs and texts are known."""
        return self.speed(plain_candidate(len(self.prompts))) if self.costs is not None and self.prompts else None

    def ranked(self) -> list[Candidate]:
        """Candidates measured, the fastest first."""
        return sorted((entry for entry in self.candidates if entry.taus), key=self.speed, reverse=True)

    def profile(self, interrupted: bool = False) -> Profile:
        """All of it, for a file."""
        settings, chosen = self.settings, self.chosen
        found = {
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
            found,
            chosen.tree if chosen else None,
            chosen.forecast(self.costs, self.prompts) if chosen and self.costs else None,
            self.costs,
            {
                "interrupted": interrupted,
                "text_tokens": TEXT_TOKENS,
                "prompt_tokens": self.prompts,
                "predicted_tokens_per_second": self.speed(chosen) if chosen else None,
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

    def _measure_costs(self, prompts: Sequence[Tensor], tell: Tell) -> None:
        settings = self.settings
        try:
            time_rounds(
                self.target,
                self.draft,
                prompts,
                [Static(shape) for shape in cost_shapes(self._law, settings.max_nodes)],
                settings.options,
                repeats=settings.repeats,
                seed=settings.seed,
                progress=lambda done, total: tell("costs of a round", done, total),
                into=self.timings,
            )
        finally:
            if self.timings.rounds:
                self.costs = fit_costs(self.timings)

    def _texts(self, prompts: Sequence[Tensor], tell: Tell) -> list[SampledText]:
        settings = self.settings
        config = settings.generation_config or getattr(self.target, "generation_config", None)
        ends = eos_tokens("config", config)
        texts = []
        for number, ids in enumerate(prompts):
            text = sample_text(
                self.target,
                self.draft,
                ids,
                sampling=settings.sampling,
                draft_sampling=settings.draft_sampling,
                places=settings.contexts,
                new_tokens=settings.new_tokens,
                seed=settings.seed + number,
                generation_config=settings.generation_config,
            )
            texts.append(until_end(text, ids.shape[1], ends))
            self.prompts.append(ids.shape[1])
            tell("sample texts", number + 1, len(prompts))
        return texts

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
            settings.order,
            settings.max_nodes,
            greedy=settings.sampling.greedy,
        )

    def _hold_mean(self, contexts: Contexts) -> None:
        """Try the best growing trees once more with their size held to its mean by every request's own counts."""
        for entry in self.ranked():
            held = with_mean(entry)
            if held is not None:
                contexts.measure([held])
                self.candidates.append(held)
                return

    def _choose(self, prompts: Sequence[Tensor], tell: Tell) -> None:
        """Time real rounds of the most promising candidates and take the fastest."""
        settings, costs = self.settings, self.costs
        assert costs is not None, "costs were measured before"
        ranked = [entry for entry in self.ranked() if entry.source != "plain"]
        shortlist: list[Candidate] = []
        for entry in [*{entry.source: entry for entry in reversed(ranked)}.values(), *ranked]:
            if entry not in shortlist and len(shortlist) < SHORTLIST:
                shortlist.append(entry)
        timings = time_rounds(
            self.target,
            self.draft,
            prompts,
            [entry.policy for entry in shortlist],
            settings.options,
            repeats=2 * settings.repeats,
            seed=settings.seed,
            progress=lambda done, total: tell("rounds of the best", done, total),
        )
        shares: list[list[float]] = [[] for _ in shortlist]
        for timed in timings.rounds:
            shares[timed.policy].append(timed.total / costs.round_seconds(timed.nodes, timed.widths))
        common = median(share for own in shares for share in own)
        # Leaning on what they have in common keeps the choice from falling on lucky timings.
        factors = [(len(own) * median(own) + LEAN * common) / (len(own) + LEAN) if own else common for own in shares]
        for candidate in ranked:
            candidate.factor = factors[shortlist.index(candidate)] if candidate in shortlist else common
        plain = [entry for entry in self.candidates if entry.source == "plain"]
        self.chosen = max([*shortlist, *plain], key=self.speed)

    def _check(self, prompts: Sequence[Tensor], tell: Tell) -> None:
        if self.chosen is None or self.costs is None or not prompts:
            return
        check_forecast(
            self.target,
            self.draft,
            prompts,
            self.chosen.policy,
            self.settings.options,
            self.chosen.forecast(self.costs, self.prompts),
            self.costs,
            new_tokens=self.settings.new_tokens,
            seed=self.settings.seed,
            progress=lambda done, total: tell("check", done, total),
            into=self.check,
        )


def until_end(text: SampledText, start: int, ends: frozenset[int]) -> SampledText:
    """A text without the places behind its end, where `generate` would not go on.

    Args:
        text: a text that went on behind its end.
        start: tokens of the prompt.
        ends: end-of-sequence ids.

    Example:
        >>> until_end(SampledText((5, 6, 7, 2, 8, 9), (2, 3, 5)), 1, frozenset({2})).places
        (2, 3)
    """
    end = next((place for place in range(start, len(text.tokens)) if text.tokens[place] in ends), len(text.tokens))
    return SampledText(text.tokens, tuple(place for place in text.places if place <= end) or text.places[:1])
