"""A pair of models with encoded prompts, for the commands that sample contexts."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from univer.bench import Prompt
    from univer.drafting.base import Draft

__all__ = ["Pair", "load_pair"]


@dataclass(frozen=True)
class Pair:
    """What contexts are sampled from.

    Attributes:
        target: The target model.
        draft: A draft with a law of its own.
        tokenizer: The target's tokenizer.
        generation_config: In place of the target's own, or None.
        prompts: Prompts that fit, with their token ids `[1, L]`, on the target's device.
    """

    target: Any
    draft: "Draft"
    tokenizer: Any
    generation_config: Any
    prompts: "list[tuple[Prompt, Tensor]]"


def load_pair(
    target: str,
    draft: str | None,
    prompts: "Sequence[Prompt]",
    dtype: str | None,
    device: str | None,
    *,
    trust_remote_code: bool,
    ignore_config: bool,
    room: int,
) -> Pair:
    """Load a pair, and refuse what contexts cannot be sampled from.

    Prompts that are too long for the models are left out, which is said on stderr.

    Args:
        target: As `univer.models.load` takes it.
        draft: As `univer generate` takes it; None for the default there.
        prompts: The prompts.
        dtype: See `univer.models.load`.
        device: Likewise.
        trust_remote_code: Likewise.
        ignore_config: Whether to go without the target's generation configuration.
        room: Positions that a prompt must leave: for the text that follows it and for a tree below that.

    Raises:
        ValueError: The draft has fixed tokens only, a setting of the target's is not supported, or no prompt fits.
        ModelError: A model cannot be loaded.
    """
    from univer.cli.config import generation_config
    from univer.cli.drafts import default_draft, make_draft
    from univer.engine.drafts import as_draft
    from univer.models import load
    from univer.models.prompts import encode

    model, tokenizer = load(target, dtype, device, trust_remote_code)
    config = generation_config(model, ignore=ignore_config, greedy=False, applied=False)
    named = draft or default_draft(target, model)
    drafter = as_draft(make_draft(named, tokenizer, dtype, device, trust_remote_code), model)
    if drafter is None or drafter.fixed_only:
        raise ValueError("this draft proposes fixed tokens only, on which all methods are membership: name another")
    encoded = [(prompt, encode(tokenizer, prompt.text).to(model.device)) for prompt in prompts]
    return Pair(model, drafter, tokenizer, config, _fitting(encoded, [model, *drafter.models], room))


def _fitting(
    prompts: "list[tuple[Prompt, Tensor]]", models: "Sequence[Any]", room: int
) -> "list[tuple[Prompt, Tensor]]":
    from univer.runtime.checks import context_limit

    limit = min((limit for model in models if (limit := context_limit(model)) is not None), default=None)
    fitting = [(prompt, ids) for prompt, ids in prompts if limit is None or ids.shape[1] + room <= limit]
    if not fitting:
        raise ValueError(f"every prompt is longer than the models' {limit} positions less {room} for what follows it")
    if left := {prompt.name for prompt, _ in prompts} - {prompt.name for prompt, _ in fitting}:
        print(f"univer: note: left out, longer than the models read: {', '.join(sorted(left))}", file=sys.stderr)
    return fitting
