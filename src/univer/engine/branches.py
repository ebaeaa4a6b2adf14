"""Processors along the branches of a tree: every node's row is processed with the ids of its own text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import torch
from torch import Tensor

from univer.engine.processors import Processor
from univer.runtime.guards import name_of, without_inference_mode

# Entries of a tensor that are compared one by one when a processor is checked.
LARGE = 1 << 20
# How far apart two answers of a processor may be for rounding to explain it, as where it sums over a large vocabulary
# in float32.
ROUNDING = 1e-3


class Processed(NamedTuple):
    """Rows after processing.

    Attributes:
        scores: `[n, V]`, float32 (float64 for float64 logits).
        stuck: numbers of the rows of which the processors left nothing; they are the model's own again.
    """

    scores: Tensor
    stuck: frozenset[int]


class BranchProcessors:
    """Applies processors to the rows of trees.

    A processor is called with the ids `[n, L]` of `n` nodes of one depth and their scores `[n, V]`. The ids of a node
    are the committed tokens, its ancestors and itself. It is never shown a text with a token that it forbids, nor one
    that goes on after an end-of-text token: nothing below such a node can be committed, so its rows stay as they are.

    One object serves one request and one model.

    Args:
        processors: in the order in which they are applied.
        eos: token ids that end the text.
    """

    def __init__(self, processors: Sequence[Processor], eos: frozenset[int]) -> None:
        self._processors = list(processors)
        self._eos = eos
        # For every text below the committed tokens that was processed: which tokens may follow it.
        self._allowed: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, committed: Sequence[int], paths: Sequence[Sequence[int]], logits: Tensor) -> Processed:
        """Process the rows of some nodes.

        Args:
            committed: all committed token ids.
            paths: for each node the tokens from the root's child down to it; none for the root itself, with which every
                round begins. Parents come before their children, in this call or an earlier one of the round.
            logits: `[n, V]`, any floating dtype; not modified.
        """
        if not paths[0]:
            self._allowed = {}
        scores = logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)
        prefix = torch.tensor([list(committed)], device=logits.device)
        stuck: list[int] = []
        for depth in sorted({len(path) for path in paths}):
            level = self._open([place for place, path in enumerate(paths) if len(path) == depth], paths)
            if not level:
                continue
            tails = torch.tensor([list(paths[place]) for place in level], dtype=torch.long, device=logits.device)
            ids = torch.cat((prefix.expand(len(level), -1), tails), dim=1)
            rows = self._process(ids, scores[level])
            allowed = rows > -math.inf
            # A NaN is no -inf: such a row is refused later on.
            empty = (rows.amax(-1) == -math.inf).tolist()
            self._allowed |= {tuple(paths[place]): row for place, row in zip(level, allowed, strict=True)}
            full = [number for number, is_empty in enumerate(empty) if not is_empty]
            scores[[level[number] for number in full]] = rows[full]
            stuck += [place for place, is_empty in zip(level, empty, strict=True) if is_empty]
        return Processed(scores, frozenset(stuck))

    def scores(self, committed: Sequence[int], paths: Sequence[Sequence[int]], logits: Tensor) -> Tensor:
        """The scores alone, `[n, V]`; arguments as for a call."""
        return self(committed, paths, logits).scores

    def check(self, committed: Sequence[int], logits: Tensor, suspects: Sequence[Processor]) -> None:
        """Refuse processors that are no functions of the ids and the scores, as far as asking them again tells.

        Args:
            committed: token ids of the prompt.
            logits: `[V]` after it.
            suspects: those of the processors that are the caller's.

        Raises:
            ValueError: asked again for the same text, alone or beside another node, one gives another answer or has
                changed something that it keeps.
        """
        with without_inference_mode():
            ids = torch.tensor([list(committed)], device=logits.device)
            scores = logits[None].to(torch.promote_types(logits.dtype, torch.float32), copy=True)
            for processor in self._processors:
                before, scores = scores.clone(), _apply(processor, ids, scores)
                if any(processor is suspect for suspect in suspects):
                    kept = [_kept(layer) for layer in _layers(processor)]
                    again = _apply(processor, ids.repeat(2, 1), before.repeat(2, 1))
                    if not _agree(again, scores.repeat(2, 1)):
                        raise ValueError(_refusal(processor, "gives another row"))
                    changed = kept != [_kept(layer) for layer in _layers(processor)]
                    if changed and not any(getattr(own, "depends_on_ids_alone", False) for own in _layers(processor)):
                        raise ValueError(_refusal(processor, "has changed what it keeps"))

    def _open(self, places: list[int], paths: Sequence[Sequence[int]]) -> list[int]:
        """Those of the nodes of one depth that the processors are asked about; one look at the device."""
        if not paths[places[0]]:
            return places
        # A parent that they were not asked about has no entry.
        known = [
            place for place in places if tuple(paths[place][:-1]) in self._allowed and paths[place][-1] not in self._eos
        ]
        if not known:
            return []
        verdicts = torch.stack([self._allowed[tuple(paths[place][:-1])][paths[place][-1]] for place in known])
        return [place for place, verdict in zip(known, verdicts.tolist(), strict=True) if verdict]

    def _process(self, ids: Tensor, scores: Tensor) -> Tensor:
        with without_inference_mode():
            ids, scores = ids.clone(), scores.clone()
            for processor in self._processors:
                scores = _apply(processor, ids, scores)
        return scores


def _apply(processor: Processor, ids: Tensor, scores: Tensor) -> Tensor:
    processed: Any = processor(ids, scores)
    if not isinstance(processed, Tensor) or processed.shape != scores.shape:
        given = list(processed.shape) if isinstance(processed, Tensor) else f"a {type(processed).__name__}"
        raise ValueError(
            f"the processor {name_of(processor)} returned {given}, not scores of the shape {list(scores.shape)} that "
            "it was given"
        )
    return processed


def _agree(scores: Tensor, others: Tensor) -> bool:
    """Whether scores are the same up to rounding, which differs with the number of rows; infinite ones exactly."""
    return torch.allclose(scores, others, rtol=1e-5, atol=ROUNDING, equal_nan=True)


def _refusal(processor: Processor, found: str) -> str:
    return (
        f"the processor {name_of(processor)} {found} when it is asked again about the same text: on trees processors "
        "are asked about many texts in any order, so that each answer must depend on the ids and scores alone, row by "
        "row; one that does so although it keeps notes says it by an attribute depends_on_ids_alone = True"
    )


def _layers(processor: Processor | None) -> Iterator[Processor]:
    """A processor and what it wraps, from the outside in."""
    while processor is not None:
        yield processor
        processor = getattr(processor, "__wrapped__", None)


def _kept(processor: Processor) -> str:
    """What a processor keeps between calls, as far as plain values show it."""
    owner = getattr(processor, "__self__", processor)
    cells = []
    for cell in getattr(processor, "__closure__", None) or ():
        # A variable that has no value yet.
        with suppress(ValueError):
            cells.append(cell.cell_contents)
    return repr(_plain([getattr(owner, "__dict__", {}), cells]))


def _plain(value: Any, depth: int = 6) -> Any:
    """A copy whose text tells changes; objects of unknown kinds stand for themselves."""
    if isinstance(value, Tensor):
        return value.tolist() if value.numel() <= LARGE else float(value.sum())
    if depth and isinstance(value, dict):
        return [(_plain(key, 0), _plain(entry, depth - 1)) for key, entry in value.items()]
    if depth and isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry, depth - 1) for entry in value]
    return value if isinstance(value, int | float | str | bytes | None) else id(value)
