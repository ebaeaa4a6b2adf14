"""Files that results are written to."""

from pathlib import Path

__all__ = ["check_new_file"]


def check_new_file(path: Path) -> None:
    """Refuse a file that results could not be written to in the end; its folder is made.

    Args:
        path: The file.

    Raises:
        ValueError: There is such a file already, or it cannot be written.
    """
    another = "name another file with --output"
    try:
        exists = path.exists()
        if not exists:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(exist_ok=False)
            path.unlink()
    except OSError as error:
        raise ValueError(f"{path} cannot be written ({error.strerror}): {another}") from error
    if exists:
        raise ValueError(f"{path} exists already; results are not overwritten: {another}")
