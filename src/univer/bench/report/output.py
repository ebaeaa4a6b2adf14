"""Which files a report may replace: those of an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from PIL import Image

# By these a page and an image are known as those of an earlier report.
GENERATOR = '<meta name="generator" content="univer report">'
SOFTWARE = "univer report"


def check_output(page: Path) -> None:
    """Refuse to replace a file that is not an earlier report.

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
    """Refuse to replace files that are not images of an earlier report.

    Args:
        images: the PNG files to be written.

    Raises:
        ValueError: with what to do.
    """
    for image in images:
        if image.exists() and _software(image) != SOFTWARE:
            raise ValueError(f"{image} exists already and is not a plot of a report: name another file with --output")


def remove_left_over(page: Path, plots: Iterable[str], images: Iterable[Path]) -> None:
    """Take away images of an earlier report of the same name that this one has no plots for.

    Args:
        page: the HTML file.
        plots: names that plots may have, without a number.
        images: the PNG files of this report.
    """
    form = re.compile(rf"{re.escape(page.stem)}-({'|'.join(map(re.escape, plots))})(-\d+)?\.png")
    for image in set(page.parent.iterdir()) - set(images):
        if form.fullmatch(image.name) and _software(image) == SOFTWARE:
            image.unlink()


def _software(image: Path) -> str | None:
    """What a PNG file says that it was made with; None for anything else."""
    try:
        with Image.open(image, formats=["PNG"]) as opened:
            return opened.info.get("Software")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
