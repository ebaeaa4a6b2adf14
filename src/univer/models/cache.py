"""The user's cache directory, and directories in it that are either whole or absent."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["cache_directory", "cached_directory"]


def cache_directory() -> Path:
    """Directory for files that can be made again.

    Returns:
        `$UNIVER_CACHE` where that is set, else `$XDG_CACHE_HOME/univer`, else `~/.cache/univer`. It need not exist yet.
    """
    own = os.environ.get("UNIVER_CACHE")
    if own:
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "univer"


def cached_directory(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the cached directory `name`, made by `fill` if it is not there.

    `fill` works in a temporary directory beside the final one, which is renamed at the end: an interrupted `fill`
    leaves nothing that could be mistaken for the real thing. A lock lets one process fill while the others wait for it.

    Args:
        name: Path relative to `cache_directory()`.
        fill: Writes the content into the empty directory that it is given.

    Returns:
        The complete directory.

    Raises:
        OSError: The cache cannot be written.
    """
    from filelock import FileLock

    final = cache_directory() / name
    if final.is_dir():
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{final.name}.partial-"
    with FileLock(final.parent / f".{final.name}.lock"):
        if final.is_dir():
            return final
        # Whoever holds the lock is alone, so a partial directory belongs to a process that was killed.
        for leftover in final.parent.glob(f"{prefix}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=final.parent, prefix=prefix) as work:
            content = Path(work) / "content"
            content.mkdir()
            fill(content)
            content.rename(final)
    return final
