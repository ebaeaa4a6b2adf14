"""Generation with every method and with plain decoding, prompt by prompt in one process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from univer.bench.cells import Cell
from univer.bench.folder import Key, Record
from univer.bench.shards import Shard
from univer.engine import generate
from univer.engine.stats import merged
from univer.models.prompts import Prompt, encode
from univer.runtime.checks import context_limit

WARM_UP_TOKENS = 16


class LiveBench:
    """A target with everything to measure on it.

    All cells of a prompt read the same tokens: in a conversation the answers before a later turn come from plain
    decoding at that temperature, generated once and not timed. Every timed answer has the full length. Seeds depend on
    the prompt and the turn alone.

    Args:
        target: a causal language model.
        tokenizer: its tokenizer.
        cells: what to measure.
        tokens: length of every answer.
        seed: of all answers.
        generation_config: in place of the target's.
        sampling: further settings of both sides: `top_k`, `top_p`, `min_p`, `draft_temperature`.

    Raises:
        ValueError: answers are too short for a whole round of the deepest tree.
    """

    def __init__(
        self,
        target: Any,
        tokenizer: Any,
        cells: Sequence[Cell],
        *,
        tokens: int = 128,
        seed: int = 0,
        generation_config: Any = None,
        **sampling: Any,
    ) -> None:
        depth, tree = max((cell.depth, cell.row.tree if cell.row else "") for cell in cells)
        # One token comes with the prefill and one is the target's own; rounds that are cut do not count.
        if tokens < depth + 2:
            raise ValueError(
                f"answers of {tokens} tokens have no room for a whole round with the tree {tree}: ask for at least "
                f"{depth + 2} tokens"
            )
        self.target = target
        self.tokenizer = tokenizer
        self.cells = list(cells)
        self.tokens = tokens
        self.seed = seed
        # Nothing but the length ends an answer that is timed.
        self._options: dict[str, Any] = {"max_time": None, "stop_strings": None}
        self._options |= {"generation_config": generation_config, **sampling}
        models = [target, *(model for cell in cells if cell.drafter for model in cell.drafter.models)]
        self._limit = min((limit for model in models if (limit := context_limit(model)) is not None), default=None)

    def excess(self, prompt: Prompt) -> int:
        """By how many tokens a prompt is too long for the models; 0 if it fits.

        Args:
            prompt: the prompt; answers before later turns count with their full length.
        """
        if self._limit is None:
            return 0
        *earlier, last = prompt.text, *prompt.later
        length = encode(self.tokenizer, last, [(text, "") for text in earlier]).shape[1]
        return max(0, length + (len(earlier) + 1) * self.tokens - self._limit)

    def records(self, shards: Sequence[Shard], done: Collection[Key] = ()) -> Iterator[Record]:
        """Measure everything, after a warm-up.

        Args:
            shards: the work.
            done: keys of records that there are already; their cells are left out.

        Yields:
            The records.
        """
        if todo := [shard for shard in shards if self.todo(shard, done)]:
            self.warm_up(todo[0].prompt)
        for shard in todo:
            yield from self.measure(shard, done)

    def warm_up(self, prompt: Prompt) -> None:
        """Run every cell once, so that no measurement includes costs that occur once per process.

        Args:
            prompt: a prompt that fits.
        """
        ids = self._encode(prompt.text, [])
        deepest = max(cell.depth for cell in self.cells)
        for cell in self.cells:
            self._decode(cell, ids, self.seed, min(self.tokens, max(WARM_UP_TOKENS, deepest + 2)))

    def measure(self, shard: Shard, done: Collection[Key] = ()) -> Iterator[Record]:
        """Measure a prompt with every cell of a temperature, in turn.

        Args:
            shard: prompt, temperature, and whose turn it is to go first.
            done: keys of records that there are already; their cells are left out.

        Yields:
            The records.
        """
        if todo := self.todo(shard, done):
            inputs = self.inputs(shard.prompt, shard.temperature)
            for cell in todo:
                yield self._record(shard.prompt, cell, inputs)

    def todo(self, shard: Shard, done: Collection[Key] = ()) -> list[Cell]:
        """The cells of a shard that have no record yet, in the order in which they are measured."""
        cells = [cell for cell in self.cells if cell.temperature == shard.temperature]
        first = shard.turn % len(cells)
        return [cell for cell in cells[first:] + cells[:first] if cell.key(shard.prompt) not in done]

    def inputs(self, prompt: Prompt, temperature: float) -> list[Tensor]:
        """What the target reads at every turn of a prompt.

        Args:
            prompt: the prompt.
            temperature: of the answers before later turns.

        Returns:
            Token ids `[1, L]` of every turn.
        """
        earlier: list[tuple[str, str]] = []
        inputs: list[Tensor] = []
        for turn, text in enumerate((prompt.text, *prompt.later)):
            inputs.append(self._encode(text, earlier))
            if turn < len(prompt.later):
                # As a user would get it: it ends where the model ends it.
                answer = generate(
                    self.target,
                    None,
                    inputs[-1],
                    temperature=temperature,
                    max_new_tokens=self.tokens,
                    seed=self._seed(prompt, turn),
                    **self._options,
                ).sequences[0, inputs[-1].shape[1] :]
                earlier.append((text, self.tokenizer.decode(answer, skip_special_tokens=True).strip()))
        return inputs

    def _encode(self, text: str, earlier: list[tuple[str, str]]) -> Tensor:
        """Token ids of a turn, on the target's device."""
        ids = encode(self.tokenizer, text, earlier)
        # Text of an answer may have more tokens than the model needed for it; what the models cannot hold is cut.
        while self._limit is not None and (excess := ids.shape[1] + self.tokens - self._limit) > 0:
            if not earlier or not earlier[-1][1]:
                break
            # A character has four tokens at most.
            earlier[-1] = (earlier[-1][0], earlier[-1][1][: -max(1, excess // 4)])
            ids = encode(self.tokenizer, text, earlier)
        return ids.to(self.target.device)

    def _seed(self, prompt: Prompt, turn: int) -> int:
        return crc32(f"{self.seed} {prompt.name} {turn}".encode())

    def _decode(self, cell: Cell, ids: Tensor, seed: int, tokens: int) -> Any:
        row = cell.row
        way: dict[str, Any] = {} if row is None else {"method": row.method, "tree": row.policy, "order": row.order}
        return generate(
            self.target,
            cell.drafter,
            ids,
            temperature=cell.temperature,
            max_new_tokens=tokens,
            eos_token_id=None,
            seed=seed,
            **way,
            **self._options,
        )

    def _record(self, prompt: Prompt, cell: Cell, inputs: Sequence[Tensor]) -> Record:
        results = [self._decode(cell, ids, self._seed(prompt, turn), self.tokens) for turn, ids in enumerate(inputs)]
        stats = merged([result.stats for result in results])
        # Where a stop or the end of the answer cut a round, it says nothing about the method.
        whole = [entry for entry in stats.rounds if not entry.cut]
        answers = [result.sequences[0, ids.shape[1] :].tolist() for result, ids in zip(results, inputs, strict=True)]
        return {
            "source": "live",
            "prompt": prompt.name,
            "group": prompt.kind,
            **cell.labels,
            "turns": len(inputs),
            "tokens": stats.new_tokens,
            "passes": stats.target_passes,
            "tau": stats.tau if cell.row else None,
            "rounds": len(stats.rounds),
            "nodes": sum(entry.drafted for entry in whole) / len(whole) if whole else None,
            "survival": [
                sum(entry.accepted >= depth for entry in whole) / len(whole) for depth in range(1, cell.depth + 1)
            ],
            "seconds": stats.seconds,
            "history": _digest([ids[0].tolist() for ids in inputs]),
            "ids": _digest(answers),
            "answers": answers,
        }


def _digest(texts: Sequence[Sequence[int]]) -> int:
    """A checksum of token ids."""
    return crc32(torch.tensor([token for text in texts for token in text], dtype=torch.int64).numpy().tobytes())
