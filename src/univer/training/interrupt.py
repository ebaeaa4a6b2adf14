"""Ctrl-C: work ends at the next place from which it can go on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class TrainingInterrupted(KeyboardInterrupt):
    """A run was ended by its user and can be resumed.

    Args:
        stage: what it was doing.
        done: how much of it is done.
        total: how much there is to do.
    """

    def __init__(self, stage: str, done: int, total: int) -> None:
        super().__init__(f"interrupted at {stage}: {done} of {total}; run the same again to go on from there")
        self.stage, self.done, self.total = stage, done, total


@contextmanager
def stop_request() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C (or request to terminate) into a question that the work asks itself; a second one ends it.

    Only the main thread can listen to signals, so elsewhere nothing changes; a signal that is ignored stays ignored.

    Yields:
        Whether the user wants to stop.
    """
    asked: list[int] = []

    def listen(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    replaced = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if (known := signal.getsignal(number)) not in (signal.SIG_IGN, None):
                signal.signal(number, listen)
                replaced[number] = known
    try:
        yield lambda: bool(asked)
    finally:
        for number, known in replaced.items():
            signal.signal(number, known)
