"""Models by name: a default that needs no account, directories, and hub ids.

>>> sorted(BUILT_IN)
['smollm2-135m']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from univer.models.catalogue import (
    BUILT_IN,
    DEFAULT_MODEL,
    SAMPLING,
    BuiltInModel,
    model_name,
    recommended_sampling,
)
from univer.models.errors import ModelError, ModelFileError, ModelNotFoundError

if TYPE_CHECKING:
    from univer.models.packing import repack
    from univer.models.store import load

__all__ = [
    "BUILT_IN",
    "DEFAULT_MODEL",
    "SAMPLING",
    "BuiltInModel",
    "ModelError",
    "ModelFileError",
    "ModelNotFoundError",
    "load",
    "model_name",
    "recommended_sampling",
    "repack",
]


def __getattr__(name: str) -> Any:
    # Loading and packing need torch, which the catalogue's readers, such as the help pages, do without.
    if name in ("load", "repack"):
        module = import_module(f"univer.models.{'store' if name == 'load' else 'packing'}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
