"""Messages about work that takes more than a moment, on stderr so that they never mix with a result."""

import contextlib
import sys
from collections.abc import Iterator

__all__ = ["quiet_transformers", "say"]


def say(message: str) -> None:
    """Write one line to stderr, dimmed where rich is installed and stderr is a terminal."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        print(message, file=sys.stderr, flush=True)
    else:
        Console(stderr=True, soft_wrap=True).print(Text(message, style="dim"))


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Switch the progress bars of transformers off for a while, and back to what they were."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
