"""Generation with real models: tree attention, cache, rounds, stopping, figures."""

from univer.engine.api import generate, generate_rounds, plain
from univer.engine.drop_in import hf
from univer.engine.engine import Engine
from univer.engine.grammar import Grammar
from univer.engine.logprobs import TokenLogprob, TokenOutputs
from univer.engine.loop import Generation, GenerationResult
from univer.engine.row import Row, Step
from univer.engine.stats import GenerationStats, RoundStats
from univer.engine.streams import Streams
from univer.engine.warpers import Sampling

__all__ = [
    "Engine",
    "Generation",
    "GenerationResult",
    "GenerationStats",
    "Grammar",
    "RoundStats",
    "Row",
    "Sampling",
    "Step",
    "Streams",
    "TokenLogprob",
    "TokenOutputs",
    "generate",
    "generate_rounds",
    "hf",
    "plain",
]
