"""What `--draft` stands for."""

from pathlib import Path
from typing import Any

from univer.models import DEFAULT_MODEL, ModelNotFoundError, load

__all__ = ["default_draft", "make_draft"]

# Drafts that the engine knows by name; everything else is a model.
_ENGINE_NAMES = ("lookup", "first=", "skip=")


def default_draft(target_name: str) -> str:
    """The draft of a target for which none is named.

    For the default model that is the model itself without the three layers whose loss it minds least; for others
    look-up, which suits every tokenizer.
    """
    return "skip=16-18" if target_name == DEFAULT_MODEL else "lookup"


def make_draft(name: str, tokenizer: Any, dtype: str | None, device: str | None, trust_remote_code: bool) -> Any:
    """Make what `univer.generate` takes as its draft.

    Args:
        name: `lookup`, `first=8`, `skip=16-18`, or a model as `univer.models.load` takes it.
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
    if name.startswith(_ENGINE_NAMES):
        return name
    from univer.drafting.independent import IndependentDraft
    from univer.engine.checks import check_tokenizers

    try:
        model, own_tokenizer = load(name, dtype, device, trust_remote_code)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(f"{error}; other drafts are lookup, first=8, skip=16-18") from error
    check_tokenizers(tokenizer, own_tokenizer)
    return IndependentDraft(model, name=Path(name).name)
