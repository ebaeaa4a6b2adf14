"""A pair of tiny models and traces of it."""

from pathlib import Path
from typing import Any

import torch

from tiny_models import tiny_llama
from univer.bench import ContextSettings, Prompt, rows_for
from univer.bench.traces import Recording, record
from univer.drafting.independent import IndependentDraft

PROMPTS = [
    (Prompt(str(80 + seed), f"kind {seed % 2}", ""), torch.tensor([[5 + seed, 9, 30 + seed]])) for seed in (1, 2)
]
SETTINGS = ContextSettings(places=2, drafted=1, new_tokens=10)
METHODS = ("rrsw", "univer", "univer:gain", "token", "spectr-lifted", "membership")


def pair() -> tuple[torch.nn.Module, IndependentDraft]:
    """A random model and a noisy copy of it."""
    target, draft = tiny_llama(0), tiny_llama(0)
    with torch.no_grad():
        for index, parameter in enumerate(draft.parameters()):
            noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(index))
            parameter.add_(0.25 * parameter.std() * noise)
    return target, IndependentDraft(draft, "noisy")


def recorded(
    path: Path,
    trees: tuple[str, ...] = ("2x3",),
    methods: tuple[str, ...] | None = METHODS,
    settings: ContextSettings = SETTINGS,
    **named: Any,
) -> Recording:
    """A trace of the pair."""
    return record(path, *pair(), named.pop("prompts", PROMPTS), rows_for(trees, methods), settings, **named)
