"""Ctrl-C: a run stops where it can be resumed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class TrainingInterrupted(KeyboardInterrupt):
    """The user interrupted a run, which can be resumed.

    Args:
        stage: name of the stage.
        done: parts of the stage that are done.
        total: all its parts.
    """

    def __init__(self, stage: str, done: int, total: int) -> None:
        super().__init__(f"interrupted at {stage}: {done} of {total}; repeat the call to resume")
        self.stage, self.done, self.total = stage, done, total


@contextmanager
def stop_request() -> Iterator[Callable[[], bool]]:
    """Note the first SIGINT or SIGTERM instead of raising; a second one raises `KeyboardInterrupt`.

    Signals reach the main thread only, so in other threads nothing changes; a signal that was ignored stays ignored.

    Yields:
        A function that returns whether the user asked to stop.
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
