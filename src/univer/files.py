"""Files of results: atomic writes, one process at a time in a folder, resuming an interrupted run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from filelock import BaseFileLock

PARTIAL = ".partial"
LOCK = ".lock"

# Of two checksums the values say nothing to a person.
CHECKSUMS = {
    "prompts_checksum": "the texts of the prompts differ",
    "ids_checksum": "the token ids of the prompts differ (another tokenizer or chat template)",
    "weights_checksum": "the weights of the models differ, though their names are the same",
}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replace a file by a whole new one, or leave it as it is if the block fails or the process is killed.

    Args:
        path: the file; it need not exist.

    Yields:
        A temporary file in the same folder, to be written within the block.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "figures.json"
        ...     with replacing(file) as partial:
        ...         _ = partial.write_text("[1, 2]")
        ...     print(file.read_text(), [path.name for path in Path(folder).iterdir()])
        [1, 2] ['figures.json']
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically, see `replacing`."""
    with replacing(path) as partial:
        partial.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 atomically, see `replacing`."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object as indented JSON atomically, see `replacing`."""
    write_text(path, json.dumps(content, indent=1) + "\n")


def lock_folder(path: Path) -> BaseFileLock:
    """Keep other processes from writing to a folder.

    Everyone in this process shares the lock. It is released with its last holder, and by the system when the process
    ends, however that ends. The lock file stays.

    Args:
        path: the folder, which exists.

    Returns:
        The lock, to be kept for as long as the folder is written to.

    Raises:
        ValueError: another process holds it.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path.resolve() / LOCK, timeout=0, thread_local=False, is_singleton=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise ValueError(
            f"another process is writing to {path}: wait until it has ended, or choose another folder"
        ) from error
    return lock


def check_new_folder(path: Path, manifest: str, what: str) -> None:
    """Check that `new_folder` can make or take a folder, before long work begins.

    Args:
        path: as for `new_folder`.
        manifest: as for `new_folder`.
        what: as for `new_folder`.

    Raises:
        ValueError: it holds other files, or no folder can be made there.
    """
    left_over = {LOCK, manifest + PARTIAL}
    if path.exists() and (not path.is_dir() or any(file.name not in left_over for file in path.iterdir())):
        raise ValueError(f"{path} exists already and does not hold a {what}: choose a new folder")
    parent = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ValueError(f"{path} cannot be made ({parent} is no writable folder): choose another folder")


def new_folder(path: Path, manifest: str, what: str) -> BaseFileLock:
    """Make a folder for a run, or take an empty one.

    Args:
        path: the folder.
        manifest: name of its manifest; a killed process may have left a partial one, which is no obstacle.
        what: what is to be written to it, such as `"run"`.

    Returns:
        Its lock, see `lock_folder`.

    Raises:
        ValueError: it cannot be made, holds other files, or another process writes to it.
    """
    check_new_folder(path, manifest, what)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{path} cannot be made ({error.strerror}): choose another folder") from error
    return lock_folder(path)


def check_resumable(saved: Mapping[str, Any], wanted: Mapping[str, Any], run: str) -> None:
    """Check that an interrupted run was made with the settings that are asked for now.

    Args:
        saved: settings of the run in the folder.
        wanted: settings asked for, as JSON has them.
        run: how the message names the run, such as `"the run in runs/first"`.

    Raises:
        ValueError: settings differ; the message names all of them with both values.

    Example:
        >>> check_resumable({"sizes": {"places": 4}}, {"sizes": {"places": 8}}, "the run in runs/first")
        Traceback (most recent call last):
        ValueError: the run in runs/first has other settings: sizes.places = 4 (now 8). Repeat the command with ...
    """
    before, now = _flat(saved), _flat(wanted)
    differing = []
    for name in {**before, **now}:
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if name in CHECKSUMS and old is None:
            raise ValueError(f"{run} is of an earlier version, which did not save a {name}: choose another folder")
        differing.append(CHECKSUMS.get(name) or "{} = {} (now {})".format(name, *_short(old, new)))
    if differing:
        raise ValueError(
            f"{run} has other settings: {', '.join(differing)}. Repeat the command with the same settings to resume "
            "it, or choose another folder"
        )


def _flat(settings: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """Settings without nesting, by names such as `experiment.places`."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{within}{name}.") if value and isinstance(value, dict) else {within + name: value}
    return found


def _short(before: object, now: object) -> tuple[str, str]:
    """Two values, cut down to where they differ."""
    texts = repr(before), repr(now)
    if max(map(len, texts)) <= 60:
        return texts
    if isinstance(before, list) and isinstance(now, list) and len(before) != len(now):
        return f"{len(before)} entries", f"{len(now)} entries"
    same = next((place for place, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, same - 20)
    first, second = (("..." if start else "") + text[start : start + 50] + "..." for text in texts)
    return first, second
