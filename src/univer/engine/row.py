"""One text at work: its prompt, settings, draft and figures; everything but the target and its cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from univer.drafting.base import Draft, DraftRequest, DraftSession
from univer.drafting.proposals import Proposal, as_proposal
from univer.engine.allowed import AllowedTokens
from univer.engine.branches import BranchProcessors
from univer.engine.logprobs import TokenOutputs
from univer.engine.options import Options
from univer.engine.plan import TreePlan
from univer.engine.positions import Positions
from univer.engine.processors import Processor, request_processors
from univer.engine.settings import applied_settings, check_settings
from univer.engine.stats import GenerationStats, PhaseClock, RoundStats
from univer.engine.stopping import (
    StopReason,
    StopRule,
    deadline,
    eos_tokens,
    length_limit,
    stop_string_criterion,
)
from univer.engine.streams import Streams
from univer.engine.verification import GreedyVerifier, SamplingVerifier, Verifier
from univer.methods import resolve
from univer.runtime.cache import Entries
from univer.runtime.checks import check_tokenizers, readable_tokens
from univer.runtime.guards import without_inference_mode
from univer.tree import DraftTree


@dataclass(frozen=True)
class Step:
    """Tokens committed by one target pass.

    Attributes:
        tokens: the new token ids, in order.
        from_draft: for each whether it is an accepted draft token (True) or the target's own (False).
        round: figures of the round; None for the prefill.
        outputs: log-probabilities and rows of the tokens, as far as they were asked for.
    """

    tokens: list[int]
    from_draft: list[bool]
    round: RoundStats | None
    outputs: TokenOutputs = field(default_factory=TokenOutputs)


class Row:
    """A text of an engine. Everything of it that changes lives here or in its draft's session.

    Args:
        target: the target model.
        draft: the draft, or None for plain decoding.
        prompt: token ids of the prompt, at least one.
        options: the request.
        settings: further generation settings by name.
        streams: its random numbers.
        device: where the target's logits lie.
        text: its number among the texts of its call.

    Attributes:
        committed: all token ids, the prompt first.
        outputs: log-probabilities and rows of the new tokens, as far as they were asked for.
        ended: whether nothing more will be added.
        error: what ended the text, where that was an exception in code of its own (draft, streamer or settings).
        stats: figures so far.
        past: keys and values that the row begins with, until it has begun.
        keep_entries: whether `entries` is filled at the end.
        entries: keys and values of the committed tokens but the last, once the row has ended.
        shared: what the drafts of the engine's rows have in common, see `DraftRequest`.

    Raises:
        ValueError: something in the request is not supported; the message names it.
    """

    def __init__(
        self,
        target: Any,
        draft: Draft | None,
        prompt: Sequence[int],
        options: Options,
        settings: dict[str, Any],
        streams: Streams,
        device: torch.device,
        text: int = 0,
    ) -> None:
        sampling = options.sampling
        config = options.generation_config or getattr(target, "generation_config", None)
        check_settings(config, settings, greedy=sampling.greedy)
        if options.tokenizer is not None and options.draft_tokenizer is not None:
            check_tokenizers(options.tokenizer, options.draft_tokenizer)
        self.options, self.draft, self.committed = options, draft, list(prompt)
        self._positions = Positions(target)
        self._positions.check_prompt(len(prompt))
        limit = length_limit(len(prompt), options.max_new_tokens, options.max_length, config, self._positions.count)
        applied = applied_settings(config, settings)
        strings = applied.get("stop_strings")
        self.stop = StopRule(
            eos_tokens(options.eos_token_id, config),
            limit,
            None if strings is None else stop_string_criterion(strings, options.tokenizer),
            options.criteria,
            deadline(applied.get("max_time")),
        )
        if self.stop.only_length:
            self._positions.check_text(len(prompt), limit)
        processors = request_processors(
            applied,
            options.processors,
            prompt_length=len(self.committed),
            max_length=limit,
            eos=self.stop.eos,
            device=device,
            text=text,
        )
        self._suspects: list[Processor] = list(options.processors)
        self._suspects += [own for own in processors if isinstance(own, AllowedTokens)]
        # The draft's rows are processed beside the target's, each with what is known of its own round.
        self._processors, self._draft_processors = (
            BranchProcessors(processors, self.stop.eos) if processors else None for _ in range(2)
        )
        self._wanted = options.wanted
        self.outputs = self._wanted.empty()
        method = resolve(options.method)
        self.plan = TreePlan(options.tree, draft, method, options.order, greedy=sampling.greedy)
        self.vocabulary = readable_tokens(target)
        if not sampling.greedy:
            method.check_vocabulary(self.plan.forest, self.vocabulary)
        self._streams = streams
        self._sampling = sampling
        self._draft_distributions: Callable[[Tensor, str], Tensor] = options.effective_draft_sampling.distributions
        self._verifier: Verifier = (
            GreedyVerifier()
            if sampling.greedy
            else SamplingVerifier(sampling, method, options.order, streams.verification)
        )
        self.stats = GenerationStats(
            method=method.name if draft else "plain",
            draft=draft.name if draft else "none",
            tree=self.plan.policy.name if draft else "none",
            prompt_tokens=len(self.committed),
        )
        self.clock = PhaseClock(self.stats.seconds, device)
        self.session: DraftSession | None = None
        self.past: Entries | None = None
        self.keep_entries = False
        self.entries: Entries | None = None
        self.shared: dict[Any, Any] = {}
        self.error: Exception | None = None
        self.ended = len(self.committed) >= limit
        if self.ended:
            self.stats.finish("length")
        self._streamed = 0
        self._streaming = False
        self._clipped = False

    def begin(self, logits: Tensor, features: Tensor | None) -> Step | None:
        """The first token, from the last row of the prompt; None where a processor or a criterion cancels the text.

        Args:
            logits: `[V]`.
            features: the hidden states that the draft asked for, one for each token of the prompt.
        """
        self.clock.start()
        self.vocabulary = logits.shape[-1]
        if self._processors is not None:
            self._processors.check(self.committed, logits, self._suspects)
            self.clock.charge("distributions")
            if self.ended:
                return None
        if self.draft is not None:
            request = DraftRequest(
                vocabulary=self.vocabulary,
                device=logits.device,
                distributions=self._draft_distributions,
                generator=self._streams.draft,
                branching=self.plan.branching,
                max_length=self.stop.max_length,
                features=features,
                processors=None if self._draft_processors is None else self._draft_processors.scores,
                shared=self.shared,
            )
            self.session = self.draft.start(request)
            self.clock.charge("draft")
        root = DraftTree([self.committed[-1]], [-1], ["root"], None, self.plan.law)
        _, tokens, outputs, reason = self._verdict(root, logits[None], "the target's prefill")
        if self.ended:
            return None
        return self._commit(Step(tokens, [False], None, outputs), reason)

    def proposal(self, nodes: int | None = None) -> Proposal[DraftTree]:
        """Draft a tree no deeper than the text may still grow; without room for a level it is a plain step.

        Args:
            nodes: most nodes below the root, where fewer are wanted than the row's own tree has.

        Raises:
            ValueError: the draft proposed something else than a tree below the text.
        """
        length = len(self.committed)
        depth = int(min(self.stop.max_length - length - 1, self._positions.room(length)))
        self._clipped = depth < self.plan.policy.max_depth
        # The draft does not read its leaves. Where it has no position for the root, the round is a plain one.
        if self.session is not None and self.session.max_length is not None:
            depth = max(0, min(depth, self.session.max_length - length + 1))
        growth = self.plan.grower.begin(depth if nodes is None or nodes > 0 else 0, nodes)
        if self.session is not None and growth.depth > 0:
            tree = yield from as_proposal(self.session.propose(self.committed, growth))
            self._check(tree)
            return tree
        return DraftTree([self.committed[-1]], [-1], ["root"], None, growth.law)

    def verify(self, tree: DraftTree, logits: Tensor, features: Tensor | None) -> tuple[list[int], Step] | None:
        """Verify a round.

        Args:
            tree: what was proposed.
            logits: `[N, V]`, the target's at every node.
            features: the hidden states that the draft asked for, one for each node.

        Returns:
            The nodes that the target's cache is to keep, the root first, and what was committed; None where a processor
            or a criterion cancels the text.
        """
        self.clock.start()
        step = f"the target's round {len(self.stats.rounds) + 1}"
        kept, tokens, outputs, reason = self._verdict(tree, logits, step)
        if self.ended:
            return None
        if self.session is not None:
            self.session.settle(kept[1:], None if features is None else features[kept])
        self.plan.grower.settle(tree, kept[1:])
        self.clock.charge("cache")
        accepted = min(len(kept) - 1, len(tokens))
        figures = RoundStats(
            drafted=len(tree) - 1,
            tested=int(tree.topology.child_counts[kept].sum()),
            accepted=accepted,
            emitted=len(tokens),
            stopped_by=reason,
            cut=self._clipped or len(tokens) < len(kept),
        )
        self.stats.rounds.append(figures)
        drafted = [index < accepted for index in range(len(tokens))]
        return kept, self._commit(Step(tokens, drafted, figures, outputs), reason)

    def stream(self, tokens: Sequence[int]) -> None:
        """Hand tokens to the streamer as transformers does: the prompt as a whole, then one token at a time."""
        if (streamer := self.options.streamer) is not None:
            pieces = [[tokens]] if self._streamed == 0 else [[token] for token in tokens]
            with without_inference_mode():
                self._streaming = True
                for piece in pieces:
                    streamer.put(torch.tensor(piece))
                self._streaming = False
                if self.ended:
                    streamer.end()
        self._streamed += len(tokens)

    def cancel(self, *, end_stream: bool = False) -> None:
        """End the text where it is, unless it has ended.

        Args:
            end_stream: tell the streamer as well; while it is being given tokens, it is told after the last of them.
        """
        if self.ended:
            return
        self.ended = True
        self.stats.finish("cancelled")
        if end_stream and self.options.streamer is not None and not self._streaming:
            with without_inference_mode():
                self.options.streamer.end()

    def cut(self, length: int) -> None:
        """Shorten a text that has ended to so many tokens."""
        self.committed = self.committed[:length]
        self.outputs = self.outputs.first(length - self.stats.prompt_tokens)
        self.stats.new_tokens = length - self.stats.prompt_tokens
        self.entries = self.entries and [
            pair and (pair[0][:, :, : length - 1], pair[1][:, :, : length - 1]) for pair in self.entries
        ]

    def _verdict(
        self, tree: DraftTree, logits: Tensor, step: str
    ) -> tuple[list[int], list[int], TokenOutputs, StopReason | None]:
        """Verify a round up to where the text ends.

        Returns:
            The kept nodes, the root first; the tokens to commit, what is known of them, and why the text ends with
            them, if it does.

        Raises:
            ValueError: the processors leave no token at the end of what is kept.
        """
        scores, stuck = logits, frozenset[int]()
        if self._processors is not None:
            scores, stuck = self._processors(self.committed, _paths(tree), logits)
        verdict = self._verifier(tree, scores, self.clock, step)
        kept, block = [0, *verdict.path], [*verdict.tokens, verdict.next_token]
        # A token that follows from a row without any is none; where the text ends before it, nobody asks for it.
        sound = next((place for place, node in enumerate(kept) if node in stuck), len(kept))
        outputs = self._wanted.empty()
        if self._wanted.anything and sound:
            rows = kept[:sound]
            outputs = self._wanted.collect(block[:sound], logits[rows], self._sampling.warp(scores[rows]))
        seen = None if outputs.scores is None else [*(self.outputs.scores or ()), *outputs.scores]
        tokens, reason = self.stop.cut(block[:sound], self.committed, seen)
        if reason is None and sound < len(block):
            raise ValueError(f"{step}: the processors forbid every token after {len(tokens)} of its tokens")
        return kept, tokens, outputs.first(len(tokens)), reason

    def _commit(self, step: Step, reason: StopReason | None) -> Step:
        self.committed += step.tokens
        self.outputs.extend(step.outputs)
        self.stats.new_tokens += len(step.tokens)
        self.stats.target_passes += 1
        self.stats.draft_passes = self.session.passes if self.session else 0
        if reason is not None:
            self.ended = True
            self.stats.finish(reason)
        self.stream(step.tokens)
        if reason is not None and self.session is not None:
            self.session.finish(self.committed)
        if reason is None:
            self._positions.check_text(self.stats.prompt_tokens, len(self.committed) + 1)
        return step

    def _check(self, tree: object) -> None:
        """Refuse a proposal that does not hang below the text."""
        name = self.stats.draft
        if not isinstance(tree, DraftTree):
            raise ValueError(f"the draft {name!r} proposed a {type(tree).__name__}, not a DraftTree")
        tokens: list[int] = tree.tokens.tolist()
        if tokens[0] != self.committed[-1]:
            raise ValueError(
                f"the draft {name!r} proposed a tree below token {tokens[0]}, the text ends with {self.committed[-1]}: "
                "the root of a tree is the last committed token"
            )
        if min(tokens) < 0 or max(tokens) >= self.vocabulary:
            outside = next(token for token in tokens if not 0 <= token < self.vocabulary)
            raise ValueError(
                f"the draft {name!r} proposed token {outside}, outside the target's vocabulary of {self.vocabulary}"
            )
        self._positions.check_tree(tree, len(self.committed), name)


def _paths(tree: DraftTree) -> list[list[int]]:
    """For each node the tokens from the root's child down to it."""
    paths: list[list[int]] = [[]]
    for parent, token in zip(tree.parents[1:], tree.tokens.tolist()[1:], strict=True):
        paths.append([*paths[parent], token])
    return paths
