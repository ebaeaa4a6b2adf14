"""Generation with real models: tree attention, cache, rounds, stopping, figures."""

from univer.engine.api import generate, generate_rounds, plain
from univer.engine.engine import Engine
from univer.engine.loop import Generation, GenerationResult
from univer.engine.row import Row, Step
from univer.engine.stats import GenerationStats, RoundStats
from univer.engine.warpers import Sampling

__all__ = [
    "Engine",
    "Generation",
    "GenerationResult",
    "GenerationStats",
    "RoundStats",
    "Row",
    "Sampling",
    "Step",
    "generate",
    "generate_rounds",
    "plain",
]
