"""Which files a report may replace: those of an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

# Marks of the files of a report; matplotlib writes the second as the first chunk of text in a PNG file.
GENERATOR = '<meta name="generator" content="univer report">'
SOFTWARE = "univer report"


def check_output(page: Path) -> None:
    """Raise if another file than an earlier report would be replaced.

    Args:
        page: the HTML file to be written.

    Raises:
        ValueError: with what to do.
    """
    if page.is_dir():
        raise ValueError(f"{page} is a folder: name a file, such as {page / 'report.html'}")
    if page.exists() and GENERATOR not in page.read_text(encoding="utf-8", errors="replace"):
        raise ValueError(f"{page} exists already and is not a report: name another file with --output")


def check_images(images: Iterable[Path]) -> None:
    """Raise if another file than a plot of an earlier report would be replaced.

    Args:
        images: the PNG files to be written.

    Raises:
        ValueError: with what to do.
    """
    for image in images:
        if image.exists() and not _is_plot(image):
            raise ValueError(f"{image} exists already and is not a plot of a report: name another file with --output")


def remove_old_plots(page: Path, plots: Iterable[str], images: Iterable[Path]) -> None:
    """Delete plots of an earlier report of the same name that this one does not have.

    Args:
        page: the HTML file.
        plots: the names of all kinds of plots.
        images: the PNG files of this report.
    """
    form = re.compile(rf"{re.escape(page.stem)}-({'|'.join(map(re.escape, plots))})(-\d+)?\.png")
    for image in set(page.parent.iterdir()) - set(images):
        if form.fullmatch(image.name) and _is_plot(image):
            image.unlink()


def _is_plot(image: Path) -> bool:
    """Whether a file is a PNG image that says it was made by a report."""
    try:
        with image.open("rb") as file:
            start = file.read(200)
    except OSError:
        return False
    return start.startswith(b"\x89PNG") and f"tEXtSoftware\0{SOFTWARE}".encode() in start
