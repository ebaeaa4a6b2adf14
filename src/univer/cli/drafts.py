"""What `--draft` stands for."""

from pathlib import Path
from typing import Any

from univer.drafting.eagle.checkpoint import is_head
from univer.models import ModelNotFoundError, load

__all__ = ["default_draft", "load_draft", "make_draft"]

# Drafts that the engine knows by name; everything else is a model.
_ENGINE_NAMES = ("eagle=", "first=", "skip=")


def default_draft(target_name: str, target: Any) -> str:
    """The draft of a target for which none is named.

    An EAGLE head where one for this very model comes with the package, else look-up, which suits every tokenizer.

    Args:
        target_name: Name under which the target was loaded.
        target: The target.
    """
    from univer.drafting.eagle.shipped import shipped_head

    return "eagle" if shipped_head(target, target_name) else "lookup"


def make_draft(name: str, tokenizer: Any, dtype: str | None, device: str | None, trust_remote_code: bool) -> Any:
    """Make what `univer.generate` takes as its draft.

    Args:
        name: `eagle`, `eagle=DIRECTORY`, `first=8`, `skip=16-18`, or a model as `univer.models.load` takes it; alone or
            with guess sources joined to it by `+`, as in `skip=16-18+lookup`; or guess sources alone: `lookup`,
            `automaton`.
        tokenizer: The target's tokenizer, which a draft model has to share.
        dtype: For a model, see `univer.models.load`.
        device: Likewise.
        trust_remote_code: Likewise.

    Returns:
        The name, for the engine to resolve, or a draft.

    Raises:
        ModelError: The model cannot be loaded.
        ValueError: It has another tokenizer, or cannot draft.
    """
    from univer.runtime.checks import check_tokenizers

    draft, own_tokenizer = load_draft(name, dtype, device, trust_remote_code)
    if own_tokenizer is not None:
        check_tokenizers(tokenizer, own_tokenizer)
    return draft


def load_draft(name: str, dtype: str | None, device: str | None, trust_remote_code: bool) -> tuple[Any, Any]:
    """As `make_draft`, without a look at the tokenizers.

    Returns:
        The name, for the engine to resolve, or a draft; and its tokenizer where it runs a model of its own.
    """
    from univer.drafting.independent import IndependentDraft
    from univer.engine.drafts import split_sources, with_sources

    own, sources = split_sources(name)
    if own in ("", "eagle") or own.startswith(_ENGINE_NAMES) or is_head(own):
        return name, None
    try:
        model, tokenizer = load(own, dtype, device, trust_remote_code)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(
            f"{error}; other drafts are lookup, automaton, eagle, eagle=DIRECTORY, first=8, skip=16-18"
        ) from error
    return with_sources(IndependentDraft(model, name=Path(own).name), sources), tokenizer
