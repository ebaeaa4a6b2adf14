"""Models by name: a default that needs no account, directories, and hub ids.

>>> sorted(BUILT_IN)
['smollm2-135m']
"""

from univer.models.catalogue import BUILT_IN, DEFAULT_MODEL, BuiltInModel, model_name
from univer.models.errors import ModelError, ModelFileError, ModelNotFoundError
from univer.models.packing import repack
from univer.models.store import load

__all__ = [
    "BUILT_IN",
    "DEFAULT_MODEL",
    "BuiltInModel",
    "ModelError",
    "ModelFileError",
    "ModelNotFoundError",
    "load",
    "model_name",
    "repack",
]
