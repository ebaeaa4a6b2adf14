"""A call of `generate`: an engine of its own, run until all of its texts have ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from univer.engine.engine import Engine
from univer.engine.logprobs import TokenOutputs
from univer.engine.options import Options, prompt_rows
from univer.engine.row import Row, Step
from univer.engine.settings import applied_settings, check_tokens
from univer.engine.stats import GenerationStats, merged
from univer.runtime.checks import readable_tokens


@dataclass(frozen=True)
class GenerationResult:
    """Finished texts.

    Attributes:
        sequences: token ids `[b, L]`, int64, the prompts included, on the device of the prompts; shorter texts are
            filled up on the right.
        stats: figures of the run, over all texts.
        texts: token ids of each text, prompt included, nothing filled up.
        figures: figures of each text.
        outputs: of each text, the requested outputs of every new token: log-probabilities and rows of scores and
            logits.
    """

    sequences: Tensor
    stats: GenerationStats
    texts: list[list[int]]
    figures: list[GenerationStats]
    outputs: list[TokenOutputs]


class Generation(Iterator[Step]):
    """A running request: iterate for one `Step` per target pass (one prompt only), or call `run`.

    Args:
        target: a causal language model.
        draft: what `generate` takes; None for plain decoding.
        input_ids: the prompts.
        options: the request.
        settings: further generation settings by name.

    Attributes:
        engine: the engine.
        rows: the texts.

    Raises:
        ValueError: something in the request is not supported; the message names it.
    """

    def __init__(self, target: Any, draft: Any, input_ids: Any, options: Options, settings: dict[str, Any]) -> None:
        self.engine = Engine(target, draft)
        vocabulary = readable_tokens(target)
        prompts = prompt_rows(input_ids, options.attention_mask, vocabulary)
        config = options.generation_config or getattr(target, "generation_config", None)
        # Ids of the target's own end of the text are left alone, as in transformers: no token ever matches them.
        check_tokens(applied_settings(config, settings) | {"eos_token_id": options.eos}, vocabulary)
        if options.streamer is not None and len(prompts) > 1:
            raise ValueError(f"a streamer takes one text, there are {len(prompts)} prompts")
        streams = options.random_streams(len(prompts))
        self.rows: list[Row] = []
        for number, (prompt, own) in enumerate(zip(prompts, streams, strict=True)):
            self.rows.append(self.engine.enter(prompt, options, settings, own, text=number))
        self._filler = _filler(config, self.rows[0].stop.eos)
        self._device = input_ids.device if isinstance(input_ids, Tensor) else torch.device("cpu")

    def run(self) -> GenerationResult:
        """Generate to the end."""
        while self.engine.busy:
            self._step()
        return self.result

    @property
    def result(self) -> GenerationResult:
        """The texts so far."""
        texts, figures = [row.committed for row in self.rows], [row.stats for row in self.rows]
        longest = max(map(len, texts))
        filled = [[*text, *[self._filler] * (longest - len(text))] for text in texts]
        sequences = torch.tensor(filled, device=self._device)
        overall = figures[0] if len(figures) == 1 else merged(figures)
        return GenerationResult(sequences, overall, texts, figures, [row.outputs for row in self.rows])

    @property
    def stats(self) -> GenerationStats:
        """Figures so far, over all texts."""
        return self.result.stats

    @property
    def committed(self) -> list[int]:
        """Token ids of the only text so far, prompt included."""
        return self._only.committed

    def __next__(self) -> Step:
        row = self._only
        if row.ended:
            raise StopIteration
        done = self._step()
        # What runs inside the step, such as a streamer, may have ended the text before there was a token.
        if not done:
            raise StopIteration
        return done[0][1]

    @property
    def _only(self) -> Row:
        if len(self.rows) != 1:
            raise ValueError(f"there are {len(self.rows)} texts: use run(), or an Engine and its step()")
        return self.rows[0]

    def _step(self) -> list[tuple[Row, Step]]:
        done = self.engine.step()
        for row in self.rows:
            if row.error is not None:
                raise row.error
        return done


def _filler(generation_config: Any, eos: frozenset[int]) -> int:
    """What shorter texts are filled up with: the padding token, else an end-of-text token, else 0."""
    padding = getattr(generation_config, "pad_token_id", None)
    return int(padding) if padding is not None else min(eos, default=0)
