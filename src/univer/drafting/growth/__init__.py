"""How trees grow: static shapes, and policies that decide level by level."""

from univer.drafting.growth.base import Grower, Growth, Guess, NodeSlots, TreePolicy
from univer.drafting.growth.loop import Drafted, draft_tree
from univer.drafting.growth.static import Static

__all__ = ["Drafted", "Grower", "Growth", "Guess", "NodeSlots", "Static", "TreePolicy", "draft_tree"]
