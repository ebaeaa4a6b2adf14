"""Measuring methods against each other: prompts, contexts, exact tau, paired intervals."""

from univer.bench.compare import Comparison, Row, compare
from univer.bench.contexts import Context, Entry
from univer.bench.prompts import Prompt, load_prompts

__all__ = ["Comparison", "Context", "Entry", "Prompt", "Row", "compare", "load_prompts"]
