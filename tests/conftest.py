"""Fixtures that several test folders share."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_models import save_tiny_llama

# Two threads beside each other gain nothing on models this small, and more of them slow a busy machine down.
torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# A shell starts what it puts in the background with Ctrl-C ignored, which programs inherit; here it is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def tiny_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a small random Llama and a byte-level tokenizer that has a chat template."""
    directory = tmp_path_factory.mktemp("tiny-llama")
    save_tiny_llama(directory, seed=0)
    return directory


@pytest.fixture(scope="session")
def smollm2() -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct in float32 on the CPU, with its tokenizer (downloaded on first use: mark tests `slow`)."""
    from univer.models import load

    return load("smollm2-135m", dtype="float32", device="cpu")
