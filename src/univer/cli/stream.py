"""Text as it is generated: whole characters, in the colour of where the token came from."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

__all__ = ["DRAFT_STYLE", "TARGET_STYLE", "TextStream"]

DRAFT_STYLE = "green"
TARGET_STYLE = "magenta"

# Enough of the prompt to decode the first new token in its context (with its space, say).
_CONTEXT = 4
_INCOMPLETE = "\ufffd"


class TextStream:
    """Decodes tokens as they come, and writes the text to a console.

    A character that is split over several tokens appears once it is complete.

    Args:
        tokenizer: A transformers tokenizer.
        prompt: Token ids before the text.
        console: Where to write, in colours on terminals only; None to write nothing.

    Attributes:
        text: The text so far, special tokens left out.
    """

    def __init__(self, tokenizer: Any, prompt: Sequence[int], console: Console | None = None) -> None:
        self.text = ""
        self._tokenizer = tokenizer
        self._console = console
        self._ids = list(prompt[-_CONTEXT:])
        self._start = 0
        self._shown = len(self._ids)

    def write(self, tokens: Sequence[int], from_draft: Sequence[bool]) -> None:
        """Add new tokens; accepted draft tokens are shown in one style and the target's own in another."""
        for token, drafted in zip(tokens, from_draft, strict=True):
            self._ids.append(token)
            self._add(self._new_text(final=False), DRAFT_STYLE if drafted else TARGET_STYLE)

    def finish(self) -> None:
        """Add what was held back, complete or not, and end the line."""
        self._add(self._new_text(final=True), TARGET_STYLE)
        if self._console:
            self._console.out("")

    def _new_text(self, final: bool) -> str:
        before = self._decode(self._ids[self._start : self._shown])
        now = self._decode(self._ids[self._start :])
        if now.endswith(_INCOMPLETE) and not final:
            return ""
        self._start, self._shown = self._shown, len(self._ids)
        return now[len(before) :]

    def _decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def _add(self, piece: str, style: str) -> None:
        self.text += piece
        if self._console is None:
            return
        if not self._console.is_terminal:
            # Not through the console, which replaces tabs and other control characters.
            self._console.file.write(piece)
            self._console.file.flush()
        elif piece:
            # A model must not be able to control the terminal.
            self._console.out(piece.replace("\x1b", "\u241b"), end="", style=style, highlight=False)
