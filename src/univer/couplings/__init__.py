"""Couplings: from a one-step rule and a tree to the distribution of the kept path, and to one verdict."""

from univer.couplings.lifted import Lifted
from univer.couplings.stepwise import Stepwise

__all__ = ["Lifted", "Stepwise"]
