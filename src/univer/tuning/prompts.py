"""Prompts to measure on, and other prompts to check the forecast on."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from torch import Tensor

from univer.models.prompts import encode, load_prompts
from univer.runtime.checks import context_limit


def split_prompts(
    path: Path | None, target: Any, tokenizer: Any, fit: int, held_out: int, room: int
) -> tuple[list[Tensor], list[Tensor]]:
    """Choose prompts to measure on and other prompts to check on, cycling through the kinds of task.

    Args:
        path: JSONL file of prompts; None for the package's training prompts, which its reports never use.
        target: the target, whose context limits the length of the prompts.
        tokenizer: its tokenizer.
        fit: number of prompts to measure on.
        held_out: number of prompts to check on. Of a file with too few prompts, a third is used for that.
        room: number of tokens that must fit after a prompt; longer prompts are skipped.

    Returns:
        Both lists of prompts, as token ids `[1, L]`.

    Raises:
        ValueError: no prompt is short enough.
    """
    source = Path(str(files("univer.training").joinpath("prompts.jsonl"))) if path is None else path
    limit = context_limit(target)
    fitting: list[Tensor] = []
    for prompt in load_prompts(source):
        ids = encode(tokenizer, prompt.text).to(target.device)
        if limit is None or ids.shape[1] + room <= limit:
            fitting.append(ids)
        if len(fitting) == fit + held_out:
            break
    if not fitting:
        raise ValueError(
            f"no prompt of {source} leaves room for {room} tokens in the {limit} positions of the target: use shorter "
            "prompts, smaller trees or shorter texts"
        )
    return _split(fitting, fit, held_out)


def _split(prompts: Sequence[Tensor], fit: int, held_out: int) -> tuple[list[Tensor], list[Tensor]]:
    if len(prompts) < fit + held_out:
        held_out = min(held_out, len(prompts) // 3 or len(prompts) - 1)
        fit = len(prompts) - held_out
    return list(prompts[:fit]), list(prompts[fit : fit + held_out])
