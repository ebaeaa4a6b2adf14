"""Generation with real models: tree attention, cache, rounds, stopping, figures."""

from univer.engine.api import generate, generate_rounds, plain
from univer.engine.loop import Generation, GenerationResult, Step
from univer.engine.stats import GenerationStats, RoundStats
from univer.engine.warpers import Sampling

__all__ = [
    "Generation",
    "GenerationResult",
    "GenerationStats",
    "RoundStats",
    "Sampling",
    "Step",
    "generate",
    "generate_rounds",
    "plain",
]
