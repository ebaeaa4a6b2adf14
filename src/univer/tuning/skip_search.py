"""A short search for the layers that a target should skip when it drafts for itself."""

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

# Length of the cached text below which passes are timed, and number of timed passes.
TIMED_CONTEXT = 64
TIMED_PASSES = 12


@dataclass(frozen=True)
class Text:
    """A text on which distributions are compared.

    Attributes:
        tokens: token ids of the prompt, followed by those of the target's answer.
        start: number of tokens of the prompt.
    """

    tokens: tuple[int, ...]
    start: int


@dataclass
class SkipSearch:
    r"""Beam search for layers to skip.

    First every layer is skipped alone. Then the best `beam` sets of each size are extended by each of the `shortlist`
    layers that changed least when skipped alone, up to `most` layers. The score of a set is the mean overlap
    `sum_x min(P(x), Q(x))` of the draft distribution `Q` with the target's `P` on the given texts. `found` holds
    everything measured, so an interrupted search loses nothing.

    Args:
        target: a causal language model of transformers.
        texts: texts sampled from the target; the search keeps their distributions in memory, `V` floats per position.
        distributions: maps logits `[n, V]` to distributions `[n, V]`, e.g. `Sampling(temperature=0.6).distributions`.
        most: largest number of layers to skip.
        beam: number of sets of each size that are extended.
        shortlist: number of layers considered after the first.
        timed: whether to time passes of the target and of half its layers, from which the others are interpolated.

    Attributes:
        found: all sets measured.
        target_seconds: time of a target pass over one token; None before the search or without timing.

    Raises:
        ValueError: a number is out of range, there is no position to compare, or layers of this target cannot be
            skipped.

    References:
        Zhang et al., "Draft & Verify", arXiv 2309.08168 (who search by Bayesian optimisation); Xia et al., "SWIFT",
        arXiv 2410.06916.
    """

    target: Any
    texts: Sequence[Text]
    distributions: Callable[[Tensor], Tensor]
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
            raise ValueError("the target has only one layer, which cannot be skipped")
        for name in ("most", "beam", "shortlist"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not any(len(text.tokens) - text.start > 0 < text.start for text in self.texts):
            raise ValueError("there is no position to compare: each text needs a prompt and an answer")
        self.most = min(self.most, self._total - 1, self.shortlist)

    @property
    def trials(self) -> int:
        """Largest number of sets that the search may measure."""
        candidates = min(self.shortlist, self._total)
        return self._total + sum(self.beam * (candidates - size + 1) for size in range(2, self.most + 1))

    @property
    def best(self) -> list[SkipSet]:
        """The set of largest overlap of each size."""
        best: dict[int, SkipSet] = {}
        for entry in self.found:
            size = len(entry.layers)
            if size not in best or best[size].overlap < entry.overlap:
                best[size] = entry
        return [best[size] for size in sorted(best)]

    @property
    def chosen(self) -> SkipSet | None:
        """The set with the fastest chain, or with the largest overlap if no pass was timed."""
        return max(self.best, key=lambda entry: (entry.chain[1] if entry.chain else 0.0, entry.overlap), default=None)

    def run(self, progress: Callable[[int], None] = lambda done: None) -> list[SkipSet]:
        """Run the search.

        Args:
            progress: called with the number of sets measured so far.

        Returns:
            `best`.
        """
        with torch.inference_mode():
            if self.timed:
                self._time_passes()
            expected = [self.distributions(logits) for logits in self._logits(self.target)]
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
        """Measure sets of one size and sort them, the best first."""
        level = []
        for layers in sets:
            draft = skip_layers(self.target, layers).model
            overlaps = [
                torch.minimum(self.distributions(logits), targets).sum(-1)
                for logits, targets in zip(self._logits(draft), expected, strict=True)
            ]
            seconds = None
            if self.target_seconds is not None:
                seconds = max(0.0, self.target_seconds - len(layers) * self._layer_seconds)
            level.append(SkipSet(layers, float(torch.cat(overlaps).double().mean()), seconds, self.target_seconds))
            self.found.append(level[-1])
            progress(len(self.found))
        level.sort(key=lambda entry: (-entry.overlap, entry.layers))
        return level

    def _time_passes(self) -> None:
        """Time passes of the target and of half its layers; the time of a pass is linear in the number of layers."""
        half = self._total // 2
        shorter = skip_layers(self.target, range(half)).model
        self.target_seconds, seconds = pass_seconds([self.target, shorter], self.texts[0].tokens)
        self._layer_seconds = max(0.0, self.target_seconds - seconds) / half

    def _logits(self, model: Any) -> Iterator[Tensor]:
        """Yield logits `[n, V]` at those positions of each text from which the target's answer was sampled."""
        limited = "logits_to_keep" in inspect.signature(model.forward).parameters
        device = model.get_input_embeddings().weight.device
        for text in self.texts:
            if (count := len(text.tokens) - text.start) > 0 < text.start:
                ids = torch.tensor([text.tokens[:-1]], device=device)
                keep = {"logits_to_keep": count} if limited else {}
                yield model(input_ids=ids, use_cache=False, **keep).logits[0, -count:]


def pass_seconds(models: Sequence[Any], tokens: Sequence[int]) -> list[float]:
    """Time a pass over one token below a cached text.

    The models alternate. The shortest pass of each counts, because other work on the machine only adds time.

    Args:
        models: causal language models of transformers.
        tokens: token ids to fill the text with.

    Returns:
        Seconds for each model.
    """
    runners = [TreeRunner(model) for model in models]
    times: list[list[float]] = [[] for _ in models]
    for runner in runners:
        runner.extend((list(tokens) * (TIMED_CONTEXT // len(tokens) + 1))[:TIMED_CONTEXT])
    for _ in range(TIMED_PASSES):
        for runner, measured in zip(runners, times, strict=True):
            start = time.perf_counter()
            # Reading a value synchronises with the device.
            runner.read_nodes(tokens[:1], [-1])[0, 0].item()
            measured.append(time.perf_counter() - start)
            runner.keep([])
    return [min(measured) for measured in times]
