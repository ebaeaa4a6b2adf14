"""Traces: drafted trees of a pair of models with their rows, on which every method can be evaluated without them."""

from univer.bench.traces.folder import TraceFolder
from univer.bench.traces.record import Recording, record
from univer.bench.traces.replay import replay

__all__ = ["Recording", "TraceFolder", "record", "replay"]
