"""Models and terminals for the command line."""

import json
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def endless_directory(tiny_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model without an end-of-sequence token, so that only the length limit ends a text."""
    directory = tmp_path_factory.mktemp("endless") / "model"
    shutil.copytree(tiny_directory, directory)
    settings = json.loads((directory / "generation_config.json").read_text())
    settings["eos_token_id"] = None
    (directory / "generation_config.json").write_text(json.dumps(settings))
    return directory
