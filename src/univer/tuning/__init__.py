"""The right size for the machine: which trees to draft so that most tokens come per second."""

from univer.tuning.profile import Profile, load_profile
from univer.tuning.settings import TuneSettings
from univer.tuning.tuner import Tuning

__all__ = ["Profile", "TuneSettings", "Tuning", "load_profile"]
