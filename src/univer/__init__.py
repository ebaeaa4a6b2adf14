"""UniVer: lossless verification of drafted token trees, with every rule behind one interface."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from univer.methods import Method, methods, register

if TYPE_CHECKING:
    from univer.engine import generate, hf
    from univer.tree import DraftTree, Forest
    from univer.verdict import Verdict, end_distribution, outcome_law, verify, verify_forest

__version__ = "0.1.0"

__all__ = [
    "DraftTree",
    "Forest",
    "Method",
    "Verdict",
    "end_distribution",
    "generate",
    "hf",
    "methods",
    "outcome_law",
    "register",
    "verify",
    "verify_forest",
]


# Imported on first use: these modules need torch, which the help pages do without, and the engine needs transformers.
_LATE = {
    **dict.fromkeys(("DraftTree", "Forest"), "univer.tree"),
    **dict.fromkeys(("Verdict", "verify_forest", "end_distribution", "outcome_law", "verify"), "univer.verdict"),
    **dict.fromkeys(("generate", "hf"), "univer.engine"),
}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
