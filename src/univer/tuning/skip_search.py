"""A short search for the layers that a target can best do without as its own draft."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from univer.drafting.layers import skip_layers
from univer.runtime.features import decoder_layers
from univer.runtime.runner import TreeRunner
from univer.tuning.skip_set import SkipSet

# A pass is timed below a text of this length, so many times.
TIMED_CONTEXT = 64
TIMED_PASSES = 12


@dataclass(frozen=True)
class Text:
    """A text on which laws are compared.

    Attributes:
        tokens: token ids, the prompt first, then what the target continued it with.
        start: number of tokens of the prompt.
    """

    tokens: tuple[int, ...]
    start: int


@dataclass
class SkipSearch:
    r"""Finds layers to skip by taking them out one after the other.

    First every layer is left out alone. Then the best `beam` sets of each size are extended by every one of the
    `shortlist` layers that were missed least, as long as there are fewer than `most`. What counts is how near the
    draft's laws `Q` stay to the target's `P` on the given texts, by `sum_x min(P(x), Q(x))`. Everything measured stays
    in `found`, so a search that is interrupted loses nothing.

    Args:
        target: a causal language model of transformers.
        texts: texts of the target's own, see `Text`; their laws are kept, `V` floats per position.
        laws: from logits `[n, V]` to laws, e.g. `Sampling(temperature=0.6).laws`.
        most: largest number of layers to skip.
        beam: sets of each size that are followed up.
        shortlist: layers that are considered after the first.
        timed: whether passes are timed: those of the target and of half of it, between which the others lie.

    Attributes:
        found: all sets measured.
        target_seconds: time of a target pass over one token; None before the search or without timing.

    Raises:
        ValueError: a number is out of range, there are no positions to compare, or the target's layers cannot be
            skipped.

    References:
        Zhang et al., "Draft & Verify", arXiv 2309.08168 (who search by Bayesian optimisation); Xia et al., "SWIFT",
        arXiv 2410.06916.
    """

    target: Any
    texts: Sequence[Text]
    laws: Callable[[Tensor], Tensor]
    most: int = 6
    beam: int = 1
    shortlist: int = 12
    timed: bool = True
    found: list[SkipSet] = field(default_factory=list, init=False)
    target_seconds: float | None = field(default=None, init=False)
    _layer_seconds: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._total = len(decoder_layers(self.target)[2])
        if self._total < 2:
            raise ValueError("the target has a single layer: there is none to skip")
        for name in ("most", "beam", "shortlist"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not any(len(text.tokens) - text.start > 0 < text.start for text in self.texts):
            raise ValueError("there is nothing to compare laws on: every text ends with its prompt, or has none")
        self.most = min(self.most, self._total - 1, self.shortlist)

    @property
    def trials(self) -> int:
        """Largest number of sets that the search measures."""
        candidates = min(self.shortlist, self._total)
        return self._total + sum(self.beam * (candidates - size + 1) for size in range(2, self.most + 1))

    @property
    def best(self) -> list[SkipSet]:
        """The set of largest overlap of every size."""
        best: dict[int, SkipSet] = {}
        for entry in self.found:
            size = len(entry.layers)
            if size not in best or best[size].overlap < entry.overlap:
                best[size] = entry
        return [best[size] for size in sorted(best)]

    @property
    def chosen(self) -> SkipSet | None:
        """The set of the fastest chain, or of the largest overlap where no pass was timed."""
        return max(self.best, key=lambda entry: (entry.chain[1] if entry.chain else 0.0, entry.overlap), default=None)

    def run(self, progress: Callable[[int], None] = lambda done: None) -> list[SkipSet]:
        """Search.

        Args:
            progress: called with the number of sets measured so far.

        Returns:
            `best`.
        """
        with torch.inference_mode():
            if self.timed:
                self._time_passes()
            expected = [self.laws(logits) for logits in self._logits(self.target)]
            level = self._level([(layer,) for layer in range(self._total)], expected, progress)
            shortlist = [entry.layers[0] for entry in level[: self.shortlist]]
            for _ in range(1, self.most):
                sets = [{*entry.layers, layer} for entry in level[: self.beam] for layer in shortlist]
                larger = {tuple(sorted(layers)) for layers in sets if len(layers) > len(level[0].layers)}
                level = self._level(sorted(larger), expected, progress)
        return self.best

    def _level(
        self, sets: Sequence[tuple[int, ...]], expected: Sequence[Tensor], progress: Callable[[int], None]
    ) -> list[SkipSet]:
        """Measure sets of one size; the best first."""
        level = []
        for layers in sets:
            shares = [
                torch.minimum(self.laws(logits), laws).sum(-1)
                for logits, laws in zip(self._logits(skip_layers(self.target, layers).model), expected, strict=True)
            ]
            seconds = None
            if self.target_seconds is not None:
                seconds = max(0.0, self.target_seconds - len(layers) * self._layer_seconds)
            level.append(SkipSet(layers, float(torch.cat(shares).double().mean()), seconds, self.target_seconds))
            self.found.append(level[-1])
            progress(len(self.found))
        level.sort(key=lambda entry: (-entry.overlap, entry.layers))
        return level

    def _time_passes(self) -> None:
        """Time passes of the target and of half of it; a pass takes so much per layer and so much besides."""
        half = self._total // 2
        shorter = skip_layers(self.target, range(half)).model
        self.target_seconds, seconds = pass_seconds([self.target, shorter], self.texts[0].tokens)
        self._layer_seconds = max(0.0, self.target_seconds - seconds) / half

    def _logits(self, model: Any) -> Iterator[Tensor]:
        """Logits `[n, V]` at the places of each text that the target's own tokens were drawn at."""
        limited = "logits_to_keep" in inspect.signature(model.forward).parameters
        device = model.get_input_embeddings().weight.device
        for text in self.texts:
            if (count := len(text.tokens) - text.start) > 0 < text.start:
                ids = torch.tensor([text.tokens[:-1]], device=device)
                keep = {"logits_to_keep": count} if limited else {}
                yield model(input_ids=ids, use_cache=False, **keep).logits[0, -count:]


def pass_seconds(models: Sequence[Any], tokens: Sequence[int]) -> list[float]:
    """Time of a pass over one token below a cached text, in seconds.

    The models take turns, and the shortest of the passes of each counts: other work on the machine only ever adds.

    Args:
        models: causal language models of transformers.
        tokens: token ids to fill the text with.
    """
    runners = [TreeRunner(model) for model in models]
    times: list[list[float]] = [[] for _ in models]
    for runner in runners:
        runner.extend((list(tokens) * (TIMED_CONTEXT // len(tokens) + 1))[:TIMED_CONTEXT])
    for _ in range(TIMED_PASSES):
        for runner, own in zip(runners, times, strict=True):
            start = time.perf_counter()
            # Reading a value waits for the device.
            runner.read_nodes(tokens[:1], [-1])[0, 0].item()
            own.append(time.perf_counter() - start)
            runner.keep([])
    return [min(own) for own in times]
