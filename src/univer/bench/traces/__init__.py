"""Traces: drafted trees and rows of a pair of models, on which every method can be evaluated without them."""

from univer.bench.traces.folder import TraceFolder
from univer.bench.traces.growths import chosen_rows
from univer.bench.traces.record import Recording, record
from univer.bench.traces.replay import replay

__all__ = ["Recording", "TraceFolder", "chosen_rows", "record", "replay"]
