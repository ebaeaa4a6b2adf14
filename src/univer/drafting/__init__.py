"""How trees are drafted: drafts and their sessions, guesses, shapes, slots, and growth within its rule."""

from univer.drafting.base import Draft, DraftSession
from univer.drafting.growth import Growth, draft_tree
from univer.drafting.guesses import Guess, GuessSession, GuessSource
from univer.drafting.request import DraftRequest

__all__ = [
    "Draft",
    "DraftRequest",
    "DraftSession",
    "Growth",
    "Guess",
    "GuessSession",
    "GuessSource",
    "draft_tree",
]
