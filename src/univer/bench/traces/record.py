"""Recording a trace: contexts from the models, packed and written prompt by prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from torch import Tensor

from univer.bench.checksum import weights_checksum
from univer.bench.traces.folder import TraceFolder
from univer.bench.traces.growths import Row, describe, growths_of
from univer.bench.traces.packing import pack
from univer.bench.traces.rounds import encode_rounds, one_round
from univer.bench.traces.shard import RecordedTree, write_shard
from univer.drafting.base import Draft
from univer.engine import Sampling
from univer.engine.contexts import contexts
from univer.models.catalogue import model_name
from univer.models.prompts import Prompt, check_names

TAIL = 1e-5
LIMIT = 2_000_000_000


@dataclass(frozen=True)
class Recording:
    """What a recording came to.

    Attributes:
        folder: the trace.
        full: whether it ended because the next prompt would not have fitted the limit.
    """

    folder: TraceFolder
    full: bool


def record(
    path: str | Path,
    target: Any,
    draft: Draft,
    prompts: Sequence[tuple[Prompt, Tensor]],
    rows: Sequence[Row],
    *,
    sampling: Sampling | None = None,
    draft_sampling: Sampling | None = None,
    places: int = 8,
    drafted: int = 2,
    new_tokens: int = 64,
    seed: int = 0,
    tail: float | None = None,
    limit_bytes: int = LIMIT,
    text_of: Callable[[int], str] | None = None,
    generation_config: Any = None,
    progress: Callable[[int], None] = lambda done: None,
    estimate: Callable[[int], None] = lambda size: None,
) -> Recording:
    """Record the contexts of `univer.bench.compare.compare` with the rows that the rules need.

    Every prompt has a shard of its own, which is written when it is whole; a run that was stopped goes on with the
    prompts that are missing. The same settings give the same shards.

    Args:
        path: folder of the trace, new or of the same settings.
        target: a causal language model.
        draft: the draft.
        prompts: prompts with their token ids `[1, L]`.
        rows: the methods on their trees, for which trees are drafted.
        sampling: settings of the target's laws; temperature 1 by default.
        draft_sampling: settings of the draft's laws; the target's by default.
        places: contexts per prompt.
        drafted: trees per context and draft law.
        new_tokens: length of the text that the contexts are taken from.
        seed: of texts and draws.
        tail: mass that a row may lack, see `packing.pack`; by default 0 where target and draft have a `top_k`, else
            1e-5.
        limit_bytes: most bytes of the folder.
        text_of: text of a token id; with it a round of every tree is recorded, see `rounds.one_round`.
        generation_config: in place of the target's.
        progress: called with the number of drafted trees so far, those of an earlier run included.
        estimate: called after the first prompt of this run with the size in bytes that the whole trace may have.

    Raises:
        ValueError: the folder holds something else, two prompts have one name, or a setting that the engine refuses.
    """
    sampling = sampling or Sampling()
    of_draft = draft_sampling or sampling
    if tail is None:
        tail = 0.0 if sampling.top_k and of_draft.top_k else TAIL
    check_names([prompt for prompt, _ in prompts])
    settings = {
        "target": model_name(target),
        "draft": draft.name.rpartition("/")[2],
        "dtype": str(target.dtype).removeprefix("torch."),
        "device": str(target.device),
        "sampling": vars(sampling),
        "draft_sampling": vars(of_draft),
        "places": places,
        "drafted": drafted,
        "new_tokens": new_tokens,
        "seed": seed,
        "tail": tail,
        "vocabulary": target.config.get_text_config().vocab_size,
        "rounds": text_of is not None,
        **describe(rows),
        "prompts": [
            {"name": prompt.name, "kind": prompt.kind, "ids": crc32(repr(ids[0].tolist()).encode())}
            for prompt, ids in prompts
        ],
        "weights_checksum": weights_checksum(target, [draft]),
    }
    folder = TraceFolder.open(path, settings)
    growths, finished, size = growths_of(rows), set(folder.finished), folder.size
    of_prompt, told = places * drafted * len(growths), False
    for done, (recorded, (_, input_ids)) in enumerate(zip(folder.prompts, prompts, strict=True)):
        if recorded in finished:
            progress((done + 1) * of_prompt)
            continue
        trees: list[RecordedTree] = []
        rounds: list[dict[str, Any]] = []
        for context in contexts(
            target,
            draft,
            input_ids,
            growths,
            sampling=sampling,
            draft_sampling=of_draft,
            places=places,
            trees=drafted,
            new_tokens=new_tokens,
            seed=seed + recorded.number,
            generation_config=generation_config,
            leaves=text_of is not None,
        ):
            if text_of is not None:
                rounds.append(one_round(context, rows, text_of, seed + recorded.number, len(trees)))
            packed = pack(context.tree, context.laws, tail)
            trees.append(RecordedTree(context.place, growths.index(context.growth), packed))
            progress(done * of_prompt + len(trees))
        shard = write_shard(trees)
        beside = encode_rounds(rounds) if text_of is not None else None
        added = len(shard) + len(beside or b"")
        if size + added > limit_bytes:
            return Recording(folder, full=True)
        folder.add(recorded, shard, beside)
        size += added
        if not told:
            told = True
            estimate(size + added * (len(prompts) - len(finished) - 1))
        progress((done + 1) * of_prompt)
    return Recording(folder, full=False)
