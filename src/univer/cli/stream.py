"""Text as it is generated: whole characters, in the colour of where the token came from."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

__all__ = ["DRAFT_STYLE", "TARGET_STYLE", "TextStream", "TokenText"]

DRAFT_STYLE = "green"
TARGET_STYLE = "magenta"

# Enough of the prompt to decode the first new token as what it is in its place (with its space, say).
_CONTEXT = 4
_INCOMPLETE = "\ufffd"


class TokenText:
    """Token ids -> text, one token at a time; a character split over tokens comes when it is whole.

    Args:
        tokenizer: A transformers tokenizer.
        prompt: Token ids before the text.
    """

    def __init__(self, tokenizer: Any, prompt: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._ids = list(prompt[-_CONTEXT:])
        self._start = 0
        self._shown = len(self._ids)

    def push(self, token: int) -> str:
        """The text that a token completes, possibly none."""
        self._ids.append(token)
        return self._new_text(final=False)

    def finish(self) -> str:
        """What was held back, complete or not."""
        return self._new_text(final=True)

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


class TextStream:
    """Writes text to a console as it comes.

    Args:
        console: Where to; colours appear on terminals only.
        tokenizer: A transformers tokenizer.
        prompt: Token ids before the text.
    """

    def __init__(self, console: Console, tokenizer: Any, prompt: Sequence[int]) -> None:
        self._console = console
        self._text = TokenText(tokenizer, prompt)

    def write(self, tokens: Sequence[int], from_draft: Sequence[bool]) -> None:
        """Write new tokens, accepted draft tokens in one style and the target's own in another."""
        for token, drafted in zip(tokens, from_draft, strict=True):
            self._print(self._text.push(token), DRAFT_STYLE if drafted else TARGET_STYLE)

    def finish(self) -> None:
        """Write what was held back and end the line."""
        self._print(self._text.finish(), TARGET_STYLE)
        self._console.out("")

    def _print(self, piece: str, style: str) -> None:
        if not self._console.is_terminal:
            # Not through the console, which replaces tabs and other control characters.
            self._console.file.write(piece)
            self._console.file.flush()
        elif piece:
            # A model must not be able to steer the terminal.
            self._console.out(piece.replace("\x1b", "\u241b"), end="", style=style, highlight=False)
