"""The loop: prefill, then round after round until the text ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from univer.drafting.base import DraftRequest, DraftSession
from univer.drafting.guesses import tell_finished
from univer.engine.checks import check_model, check_tokenizers, context_limit, readable_tokens
from univer.engine.decision import Decision, GreedyDecision, SampledDecision
from univer.engine.drafts import as_draft
from univer.engine.options import Options, prompt_tokens
from univer.engine.plan import TreePlan
from univer.engine.probe import check_tree_attention
from univer.engine.round import Round
from univer.engine.runner import TreeRunner
from univer.engine.settings import check_settings
from univer.engine.stats import GenerationStats, PhaseClock, RoundStats
from univer.engine.stopping import StopReason, StopRule, eos_tokens, length_limit
from univer.methods import resolve
from univer.tree import DraftTree


@dataclass(frozen=True)
class GenerationResult:
    """A finished text.

    Attributes:
        sequences: token ids `[1, L]`, int64, the prompt included, on the device of the prompt.
        stats: figures of the run.
    """

    sequences: Tensor
    stats: GenerationStats


@dataclass(frozen=True)
class Step:
    """Tokens committed by one target pass.

    Attributes:
        tokens: the new token ids, in order.
        from_draft: for each whether it is an accepted draft token (True) or the target's own (False).
        round: figures of the round; None for the prefill.
    """

    tokens: list[int]
    from_draft: list[bool]
    round: RoundStats | None


class Generation(Iterator[Step]):
    """A request at work: iterate for one `Step` per target pass, or call `run`.

    Everything that changes lives here or in the draft's session, nothing in the models. Figures are in `stats` at any
    time.

    Args:
        target: a causal language model.
        draft: what `generate` takes; None for plain decoding.
        input_ids: the prompt.
        options: the request.
        settings: further generation settings, which must have no effect.

    Raises:
        ValueError: something in the request is not supported; the message names it.
    """

    def __init__(self, target: Any, draft: Any, input_ids: Any, options: Options, settings: dict[str, Any]) -> None:
        self.options = options
        sampling = options.sampling
        config = options.generation_config or getattr(target, "generation_config", None)
        check_model(target, "target")
        check_settings(config, settings, greedy=sampling.greedy)
        if options.tokenizer is not None and options.draft_tokenizer is not None:
            check_tokenizers(options.tokenizer, options.draft_tokenizer)
        self.committed = prompt_tokens(input_ids, options.attention_mask, readable_tokens(target))
        limit = length_limit(
            len(self.committed), options.max_new_tokens, options.max_length, config, context_limit(target)
        )
        self.stop = StopRule(eos_tokens(options.eos_token_id, config), limit)
        self._sequence_device = input_ids.device if isinstance(input_ids, Tensor) else torch.device("cpu")

        method = resolve(options.method)
        self._draft = as_draft(draft, target)
        self._draft_laws = options.draft_laws.laws
        self.plan = TreePlan(options.tree, self._draft, method, options.order, greedy=sampling.greedy)
        if not sampling.greedy:
            method.check_vocabulary(self.plan.forest, readable_tokens(target))
        self.target = TreeRunner(target, self._draft.features if self._draft else ())
        self.plan.check_attention(self.target.pattern)
        models = [target, *(self._draft.models if self._draft else ())]
        self._training = [m for model in models if isinstance(model, nn.Module) for m in model.modules() if m.training]
        if self.plan.drafts and self.target.pattern.honours_masks:
            with _evaluating(self._training):
                check_tree_attention(target, "target")
        self._generator = options.random_source()
        self._decide: Decision = (
            GreedyDecision() if sampling.greedy else SampledDecision(sampling, method, options.order, self._generator)
        )
        self.stats = GenerationStats(
            method=method.name if self._draft else "plain",
            draft=self._draft.name if self._draft else "none",
            tree=self.plan.policy.name if self._draft else "none",
            prompt_tokens=len(self.committed),
        )
        self._clock = PhaseClock(self.stats.seconds, self.target.device)
        self.session: DraftSession | None = None
        self._round: Round | None = None
        self._ended = len(self.committed) >= limit
        self._streamed = 0

    def run(self) -> GenerationResult:
        """Generate to the end."""
        for _ in self:
            pass
        return self.result

    @property
    def result(self) -> GenerationResult:
        """The text so far."""
        return GenerationResult(torch.tensor([self.committed], device=self._sequence_device), self.stats)

    def __next__(self) -> Step:
        if self._streamed == 0:
            self._stream(self.committed)
        if self._ended:
            raise StopIteration
        self._clock.start()
        try:
            with torch.inference_mode(), _evaluating(self._training):
                step = self._prefill() if self._round is None else self._next_round(self._round)
        except BaseException:
            # The caches hold a half-finished round: this text cannot be continued.
            self._ended = True
            raise
        self.committed += step.tokens
        self.stats.new_tokens += len(step.tokens)
        self.stats.target_passes = self.target.passes
        self.stats.draft_passes = self.session.passes if self.session else 0
        self._stream(step.tokens)
        if self.stats.stopped_by is not None:
            tell_finished(self.session, self.committed)
        return step

    def _stream(self, tokens: list[int]) -> None:
        """Hand tokens to the streamer as transformers does: the prompt as a whole, then one token at a time."""
        if (streamer := self.options.streamer) is not None:
            for piece in [[tokens]] if self._streamed == 0 else [[token] for token in tokens]:
                streamer.put(torch.tensor(piece))
            if self._ended:
                streamer.end()
        self._streamed += len(tokens)

    def _prefill(self) -> Step:
        """Read the prompt; its last row gives the first token."""
        logits = self.target.extend(self.committed)[None]
        self._clock.charge("prefill")
        if self._draft is not None:
            request = DraftRequest(
                vocabulary=logits.shape[-1],
                device=logits.device,
                laws=self._draft_laws,
                generator=self._generator,
                branching=self.plan.branching,
                max_length=self.stop.max_length,
                features=self.target.features,
            )
            self.session = self._draft.start(request)
            self._clock.charge("draft")
        root = DraftTree([self.committed[-1]], [-1], ["root"], None, self.plan.law)
        verdict = self._decide(root, logits, self._clock, "the target's prefill")
        self._round = Round(
            self.target, self.session, self._decide, self._clock, self.stats.draft, vocabulary=logits.shape[-1]
        )
        tokens, reason = self.stop.cut([verdict.next_token], len(self.committed))
        self._end(reason)
        return Step(tokens, [False], None)

    def _next_round(self, parts: Round) -> Step:
        """Play one round with a tree no deeper than the text may still grow."""
        depth = self.stop.max_length - len(self.committed) - 1
        clipped = depth < self.plan.policy.max_depth
        grower = self.plan.grower
        tree, verdict = parts.play(
            self.committed, grower.begin(depth), f"the target's round {len(self.stats.rounds) + 1}"
        )
        grower.settle(tree, verdict.path)
        block = [*verdict.tokens, verdict.next_token]
        tokens, reason = self.stop.cut(block, len(self.committed))
        accepted = min(len(verdict.path), len(tokens))
        figures = RoundStats(
            drafted=len(tree) - 1,
            tested=int(tree.topology.child_counts[[0, *verdict.path]].sum()),
            accepted=accepted,
            emitted=len(tokens),
            stopped_by=reason,
            cut=clipped or len(tokens) < len(block),
        )
        self.stats.rounds.append(figures)
        self._end(reason)
        return Step(tokens, [index < accepted for index in range(len(tokens))], figures)

    def _end(self, reason: StopReason | None) -> None:
        if reason is not None:
            self._ended = True
            self.stats.finish(reason)


@contextmanager
def _evaluating(training: list[nn.Module]) -> Iterator[None]:
    """Put modules that are in training mode into evaluation mode, and back whatever happens."""
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
