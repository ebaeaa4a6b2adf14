"""A tiny target with a tokenizer and texts, for tests of training."""

from functools import cache
from pathlib import Path
from typing import Any

import torch

from tiny_models import tiny_llama
from univer.drafting.eagle.head import EagleHead
from univer.training.features import FeatureSet, compute_features
from univer.training.initial import new_config, new_head
from univer.training.settings import TrainingSettings
from univer.training.texts import Texts, frequent_tokens, join


@cache
def target() -> Any:
    """A random Llama whose distributions are far from uniform; tests share it, so none may change it."""
    return tiny_llama(seed=0)


def random_texts(lengths: list[int], seed: int = 0, starts: list[int] | None = None) -> Texts:
    """Texts of random tokens, each a group of its own."""
    generator = torch.Generator().manual_seed(seed)
    size = target().config.vocab_size
    rows = [torch.randint(size, (length,), generator=generator).tolist() for length in lengths]
    return join(rows, starts or [0] * len(rows), list(range(len(rows))))


def make_head(settings: TrainingSettings, texts: Texts) -> EagleHead:
    """The head that a run with these settings starts from."""
    config = new_config(target(), settings)
    tokens, _ = frequent_tokens(texts, config.draft_vocab_size, config.vocab_size)
    return new_head(target(), config, tokens, settings.seed)


def features(head: EagleHead, texts: Texts, folder: Path) -> FeatureSet:
    """The target's hidden states of texts."""
    folder.mkdir(parents=True, exist_ok=True)
    return compute_features(target(), texts, head.config.features, folder)
