"""Training of EAGLE heads: texts sampled from a target, what the target thinks of them, and the trainer.

>>> TrainingSettings(steps=500).interval
50
"""

from univer.training.interrupt import TrainingInterrupted
from univer.training.result import TrainingResult
from univer.training.run import TrainingRun, train_eagle
from univer.training.settings import TrainingSettings

__all__ = ["TrainingInterrupted", "TrainingResult", "TrainingRun", "TrainingSettings", "train_eagle"]
