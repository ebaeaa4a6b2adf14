"""A pair of models with encoded prompts, for the commands that sample contexts."""

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
        prompts: Prompts with their token ids `[1, L]`, on the target's device.
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
) -> Pair:
    """Load a pair, and refuse what contexts cannot be sampled from.

    Args:
        target: As `univer.models.load` takes it.
        draft: As `univer generate` takes it; None for the default there.
        prompts: The prompts.
        dtype: See `univer.models.load`.
        device: Likewise.
        trust_remote_code: Likewise.
        ignore_config: Whether to go without the target's generation configuration.

    Raises:
        ValueError: The draft has fixed tokens only, or a setting of the target's is not supported.
        ModelError: A model cannot be loaded.
    """
    from univer.bench.prompts import encode
    from univer.cli.config import generation_config
    from univer.cli.drafts import default_draft, make_draft
    from univer.engine.drafts import as_draft
    from univer.models import load

    model, tokenizer = load(target, dtype, device, trust_remote_code)
    config = generation_config(model, ignore=ignore_config, greedy=False, applied=False)
    named = draft or default_draft(target, model)
    drafter = as_draft(make_draft(named, tokenizer, dtype, device, trust_remote_code), model)
    if drafter is None or drafter.fixed_only:
        raise ValueError("this draft proposes fixed tokens only, on which all methods are membership: name another")
    encoded = [(prompt, encode(tokenizer, prompt.text).to(model.device)) for prompt in prompts]
    return Pair(model, drafter, tokenizer, config, encoded)
