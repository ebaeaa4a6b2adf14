"""Recording a trace: contexts from the models, written prompt by prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from torch import Tensor

from univer.bench.checksum import weights_checksum
from univer.bench.measure import draft_label
from univer.bench.rows import Row, describe, growths_of
from univer.bench.traces.folder import TraceFolder
from univer.bench.traces.rounds import encode_rounds, one_round
from univer.bench.traces.shard import write_shard
from univer.drafting.base import Draft
from univer.engine.contexts import Context, ContextSettings, contexts
from univer.files import replacing, write_bytes
from univer.models.catalogue import model_name
from univer.models.prompts import Prompt, check_names

LIMIT = 2_000_000_000


@dataclass(frozen=True)
class Recording:
    """The result of a recording.

    Attributes:
        folder: the trace.
        full: whether it ended because the next prompt would not have fitted the limit.
    """

    folder: TraceFolder
    full: bool


class _FullError(Exception):
    """The shard does not fit."""


def record(
    path: str | Path,
    target: Any,
    draft: Draft,
    prompts: Sequence[tuple[Prompt, Tensor]],
    rows: Sequence[Row],
    settings: ContextSettings | None = None,
    *,
    seed: int = 0,
    limit_bytes: int = LIMIT,
    text_of: Callable[[int], str] | None = None,
    progress: Callable[[int], None] = lambda done: None,
    estimate: Callable[[int], None] = lambda size: None,
) -> Recording:
    """Record the contexts that `univer.bench.measure` measures on, with the rows that verification needs.

    Every prompt has a shard of its own, which is written whole; an interrupted recording resumes with the prompts that
    are missing. The same settings give the same shards.

    Args:
        path: folder of the trace, new or of the same settings.
        target: a causal language model.
        draft: the draft.
        prompts: prompts with their token ids `[1, L]`.
        rows: the methods on their trees, for which trees are drafted.
        settings: how contexts are sampled.
        seed: of texts and draws; that of each prompt is the seed plus its number.
        limit_bytes: largest size of the folder in bytes.
        text_of: text of a token id; with it a round of every tree is recorded, see `rounds.one_round`.
        progress: called with the number of drafted trees so far, those of an earlier run included.
        estimate: called after the first prompt of this run with the size in bytes that the whole trace may have.

    Raises:
        ValueError: the folder holds something else, two prompts have one name, or a setting that the engine does not
            support.
    """
    settings = settings or ContextSettings()
    check_names([prompt for prompt, _ in prompts])
    saved = {
        "target": model_name(target),
        "draft": draft_label(draft),
        "dtype": str(target.dtype).removeprefix("torch."),
        "device": str(target.device),
        "sampling": vars(settings.sampling),
        "draft_sampling": vars(settings.of_draft),
        "places": settings.places,
        "drafted": settings.drafted,
        "new_tokens": settings.new_tokens,
        "seed": seed,
        "vocabulary": target.config.get_text_config().vocab_size,
        "rounds": text_of is not None,
        **describe(rows),
        "prompts": [
            {"name": prompt.name, "kind": prompt.kind, "ids": crc32(repr(ids[0].tolist()).encode())}
            for prompt, ids in prompts
        ],
        "weights_checksum": weights_checksum(target, [draft]),
    }
    folder = TraceFolder.open(path, "trace", saved)
    growths, before = growths_of(rows), len(folder.finished)
    of_prompt = settings.places * settings.drafted * len(growths)
    for prompt, (_, input_ids) in zip(folder.prompts, prompts, strict=True):
        first = prompt.number * of_prompt
        if not folder.shard(prompt).is_file():
            prompt_seed, leaves, size = seed + prompt.number, text_of is not None, folder.size
            found = contexts(target, draft, input_ids, growths, settings, seed=prompt_seed, leaves=leaves)
            try:
                with replacing(folder.shard(prompt)) as partial:
                    rounds: list[dict[str, Any]] = []
                    seen = _seen(found, rounds, rows, text_of, prompt_seed)
                    write_shard(partial, _counted(seen, first, progress), growths)
                    encoded = encode_rounds(rounds) if rounds else b""
                    if size + partial.stat().st_size + len(encoded) > limit_bytes:
                        raise _FullError
                    # The shard comes last and shows that the prompt is finished.
                    if rounds:
                        write_bytes(folder.rounds(prompt), encoded)
            except _FullError:
                return Recording(folder, full=True)
            if len(folder.finished) == before + 1:
                estimate(size + (folder.size - size) * (len(prompts) - before))
        progress(first + of_prompt)
    return Recording(folder, full=False)


def _counted(found: Iterator[Context], first: int, progress: Callable[[int], None]) -> Iterator[Context]:
    for number, context in enumerate(found, start=first + 1):
        yield context
        progress(number)


def _seen(
    found: Iterator[Context],
    rounds: list[dict[str, Any]],
    rows: Sequence[Row],
    text_of: Callable[[int], str] | None,
    seed: int,
) -> Iterator[Context]:
    """The contexts, of each of which a round is noted if there are texts of tokens."""
    for number, context in enumerate(found):
        if text_of is not None:
            rounds.append(one_round(context, rows, text_of, seed, number))
        yield context
