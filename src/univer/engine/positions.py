"""How far a text may go before its target runs out of positions."""

from __future__ import annotations

import math
from typing import Any

from univer.runtime.checks import position_limit
from univer.tree import DraftTree


class Positions:
    """The positions of a target, see `position_limit`. Whatever would be read at another one is refused.

    The last token of a text needs no position, as nothing follows from it.

    Args:
        target: the target model.

    Attributes:
        count: their number; infinite where there is no end.
    """

    def __init__(self, target: Any) -> None:
        limit = position_limit(target)
        self.count = math.inf if limit is None else limit[0]
        self._named = "" if limit is None else f"{limit[0]} positions of the target ({limit[1]})"

    def room(self, length: int) -> float:
        """Levels of nodes below a text of so many tokens that can be read."""
        return self.count - length

    def check_prompt(self, prompt: int) -> None:
        """Refuse a prompt of more tokens than there are positions.

        Raises:
            ValueError: with both numbers.
        """
        if prompt > self.count:
            raise ValueError(f"the prompt has {prompt} tokens, which exceed the {self._named}: shorten the prompt")

    def check_text(self, prompt: int, length: int) -> None:
        """Refuse a text of so many tokens that one beside the last has no position.

        Args:
            prompt: number of tokens of the prompt.
            length: number of tokens with it.

        Raises:
            ValueError: with the number of new tokens that there are positions for.
        """
        if length > self.count + 1:
            raise ValueError(
                f"{prompt} prompt tokens and {length - prompt} new ones exceed the {self._named}: ask for at most "
                f"{self.count + 1 - prompt} new tokens"
            )

    def check_tree(self, tree: DraftTree, length: int, draft: str) -> None:
        """Refuse a tree that goes deeper than there are positions.

        Args:
            tree: the tree.
            length: number of tokens of the text, the root's included.
            draft: name of the draft.

        Raises:
            ValueError: with the first node that has no position.
        """
        outside = next((node for node, depth in enumerate(tree.depths) if depth > self.room(length)), None)
        if outside is not None:
            raise ValueError(
                f"the draft {draft!r} proposed node {outside} at depth {tree.depths[outside]} below {length} tokens, "
                f"which exceeds the {self._named}"
            )
