"""A cache of its own for every test."""

from pathlib import Path

import pytest


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache directory that `univer.models` uses during the test."""
    path = tmp_path / "cache"
    monkeypatch.setenv("UNIVER_CACHE", str(path))
    return path
