"""Measuring methods against each other: prompts, contexts, exact tau, paired intervals."""

from univer.bench.compare import Comparison, Row, compare
from univer.engine.contexts import Context, Entry
from univer.models.prompts import Prompt, load_prompts

__all__ = ["Comparison", "Context", "Entry", "Prompt", "Row", "compare", "load_prompts"]
