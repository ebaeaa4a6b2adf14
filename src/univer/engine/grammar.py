"""A processor that keeps texts inside a grammar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor

# Texts whose states are remembered; a state that was forgotten is found again from the first token on.
REMEMBERED = 1024


class Automaton(Protocol):
    """What a grammar is to know: an `Index` of `outlines_core` is one.

    States may be of any kind. A token that ends the text is allowed like any other, where the grammar is satisfied.
    """

    def get_initial_state(self) -> Any:
        """State of the empty text."""
        ...

    def get_next_state(self, state: Any, token_id: int) -> Any:
        """State after one more token, or None if it is not allowed."""
        ...

    def get_allowed_tokens(self, state: Any) -> Sequence[int] | None:
        """The tokens that may come next."""
        ...


class Grammar:
    """Removes every token that a grammar does not allow next.

    The state of a text is a function of its ids: it is that of the text without its last token, moved on by one token.
    So branches of a tree share what they have in common, nothing is ever rolled back, and the processor serves plain
    decoding in transformers just as well. Texts outside the grammar are left as they are.

    Args:
        automaton: the grammar over token ids.
        prompt_length: number of ids before the text that it describes begins.

    Example:
        An `Index` is made of a regular expression and the tokens of the target's vocabulary.

        >>> import torch
        >>> from outlines_core import Index, Vocabulary
        >>> index = Index("[ab]c?", Vocabulary(3, {"a": [0], "b": [1], "c": [2]}))
        >>> grammar = Grammar(index, prompt_length=1)
        >>> grammar(torch.tensor([[2]]), torch.zeros(1, 4))
        tensor([[0., 0., -inf, -inf]])
        >>> grammar(torch.tensor([[2, 0], [2, 1]]), torch.zeros(2, 4))
        tensor([[-inf, -inf, 0., 0.],
                [-inf, -inf, 0., 0.]])
    """

    # What it remembers changes with the texts that it is shown, its answers do not.
    depends_on_ids_alone = True

    def __init__(self, automaton: Automaton, prompt_length: int) -> None:
        self._automaton = automaton
        self._prompt_length = prompt_length
        self._states: dict[tuple[int, ...], Any] = {}

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Mask rows `[n, V]` by their own ids `[n, L]`."""
        masked = scores.new_full(scores.shape, -math.inf)
        for place, ids in enumerate(input_ids[:, self._prompt_length :].tolist()):
            state = self._state(tuple(ids))
            if state is None:
                masked[place] = scores[place]
            else:
                allowed = list(self._automaton.get_allowed_tokens(state) or ())
                masked[place, allowed] = scores[place, allowed]
        return masked

    def _state(self, text: tuple[int, ...]) -> Any:
        known = next(count for count in range(len(text), -1, -1) if not count or text[:count] in self._states)
        state = self._states[text[:known]] if known else self._automaton.get_initial_state()
        for token in text[known:]:
            if state is None:
                break
            state = self._automaton.get_next_state(state, token)
        if len(self._states) >= REMEMBERED:
            self._states.clear()
        self._states[text] = state
        return state
