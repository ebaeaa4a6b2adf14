"""Measuring methods against each other: contexts, exact acceptance lengths, paired intervals."""

from univer.bench.measure import measure
from univer.bench.rows import Row, chosen_rows, rows_for
from univer.bench.summary import summarise
from univer.engine.contexts import Context, ContextSettings
from univer.models.prompts import Prompt, load_prompts

__all__ = [
    "Context",
    "ContextSettings",
    "Prompt",
    "Row",
    "chosen_rows",
    "load_prompts",
    "measure",
    "rows_for",
    "summarise",
]
