"""UniVer: lossless verification of drafted token trees, with every rule behind one interface."""

from __future__ import annotations

from typing import Any

from univer.methods import Method, methods, register
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


def __getattr__(name: str) -> Any:
    # The engine needs transformers; the core does not.
    if name in ("generate", "hf"):
        from univer import engine

        return getattr(engine, name)
    raise AttributeError(f"module 'univer' has no attribute {name!r}")
