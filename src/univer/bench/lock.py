"""One process at a time at work in a folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from weakref import WeakValueDictionary

if sys.platform != "win32":
    import fcntl


class FolderLock:
    """Keeps other processes from writing to a folder for as long as somebody here holds it.

    It ends with the process, however that ends, and leaves nothing behind.

    Args:
        path: the folder.

    Raises:
        ValueError: another process holds it.
    """

    def __init__(self, path: Path) -> None:
        self._file = -1
        if sys.platform == "win32":
            return  # folders go without there
        self._file = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(
                f"another process is at work in {path}: wait until it has ended, or choose another folder"
            ) from error
        except OSError:
            pass  # a file system without locks

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


_held: WeakValueDictionary[tuple[int, int], FolderLock] = WeakValueDictionary()


def hold(path: Path) -> FolderLock:
    """The lock of a folder; everyone in this process shares it, and the last one to let go of it gives it back.

    Args:
        path: the folder, which exists.

    Raises:
        ValueError: another process holds it.
    """
    about = path.stat()
    place = about.st_dev, about.st_ino
    lock = _held.get(place)
    if lock is None:
        lock = _held[place] = FolderLock(path)
    return lock
