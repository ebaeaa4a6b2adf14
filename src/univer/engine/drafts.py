"""From what a caller passes as `draft` to a draft."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from torch import nn

from univer.drafting.automaton_source import AutomatonSource
from univer.drafting.base import Draft
from univer.drafting.combined import CombinedDraft
from univer.drafting.eagle.checkpoint import is_head
from univer.drafting.eagle.draft import eagle_draft
from univer.drafting.guess_draft import GuessDraft
from univer.drafting.guesses import GuessSource
from univer.drafting.independent import IndependentDraft
from univer.drafting.layers import early_exit, skip_layers
from univer.drafting.lookup import LookupSource

SOURCES: dict[str, type[LookupSource] | type[AutomatonSource]] = {
    "lookup": LookupSource,
    "automaton": AutomatonSource,
}
FORMS = (
    "'lookup', 'automaton', 'eagle', 'eagle=DIRECTORY', 'first=8', 'skip=16-18', some of them joined by '+' of which "
    "one at most runs a model, such as 'skip=16-18+lookup', or pass a model"
)


def as_draft(draft: Any, target: Any) -> Draft | None:
    """The draft that a model, a text or an object stands for.

    Args:
        draft: a causal language model; a draft; a guess source; None for plain decoding; `"lookup"` for prompt look-up;
            `"automaton"` for a suffix automaton; `"first=8"` for the target's first 8 layers; `"skip=16-18"` or
            `"skip=3,16,17"` for the target without the layers named; `"eagle=DIRECTORY"`, or the directory alone, for
            an EAGLE head, `"eagle"` for the one that comes with the package for the target; several joined by `+`, of
            which one at most may run a model: `"skip=16-18+lookup"`, `"lookup+automaton"`.
        target: the target model, whose layers a self-draft runs.

    Returns:
        The draft, or None.

    Raises:
        ValueError: the text names no draft.
        TypeError: the object is no draft.

    Example:
        >>> as_draft("lookup+automaton", target=None).name
        'lookup+automaton'
    """
    if draft is None:
        return None
    if isinstance(draft, str):
        rest, sources = split_sources(draft)
        if "" in draft.split("+"):
            raise ValueError(f"unknown draft {draft!r}: use {FORMS}")
        return with_sources(_model_draft(rest, draft, target) if rest else None, sources)
    if isinstance(draft, nn.Module):
        return IndependentDraft(draft)
    if isinstance(draft, Draft):
        return draft
    if isinstance(draft, GuessSource):
        return GuessDraft([draft])
    raise TypeError(
        "a draft is a causal language model, a text, or an object that derives from univer.drafting.base.Draft or "
        f"univer.drafting.guesses.GuessSource, not a {type(draft).__name__}"
    )


def split_sources(text: str) -> tuple[str, list[str]]:
    """Take the names of guess sources out of the text that names a draft.

    Args:
        text: parts joined by `+`.

    Returns:
        What is left, joined again, and the names of the sources.

    Raises:
        ValueError: a source is named twice.

    Example:
        >>> split_sources("skip=16-18+lookup")
        ('skip=16-18', ['lookup'])
    """
    parts = text.split("+")
    sources = [part for part in parts if part in SOURCES]
    if len(set(sources)) < len(sources):
        raise ValueError(f"the draft {text!r} names a source twice")
    return "+".join(part for part in parts if part not in SOURCES), sources


def with_sources(draft: Draft | None, names: Sequence[str]) -> Draft:
    """A draft with guess sources beside it.

    Args:
        draft: what gives rows, or None for the sources alone.
        names: names of guess sources, at least one if there is no draft.
    """
    sources = [SOURCES[name]() for name in names]
    if draft is None:
        return GuessDraft(sources)
    return CombinedDraft(draft, sources) if sources else draft


def _model_draft(part: str, whole: str, target: Any) -> Draft:
    """The draft that runs a model; `whole` is the text that it was taken from."""
    if part == "eagle":
        return eagle_draft(target)
    if part.startswith("eagle=") or is_head(part):
        return eagle_draft(target, part.removeprefix("eagle="))
    if match := re.fullmatch(r"first=(\d+)", part):
        return early_exit(target, int(match[1]))
    if match := re.fullmatch(r"skip=((\d+(-\d+)?)(,\d+(-\d+)?)*)", part):
        return skip_layers(target, _numbers(match[1]))
    raise ValueError(f"unknown draft {whole!r}: use {FORMS}")


def _numbers(text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
