"""A tiny target with a head, whatever the public format the head comes in."""

import copy
from functools import cache
from typing import Any

import torch

from drafting.eagle.checkpoints import DRAFT_TOKENS, HEAD_DIM, HEADS, INNER, KV_HEADS, WIDTH
from engine.families import VOCABULARY, tiny
from univer.drafting.eagle.config import LAST, EagleConfig
from univer.drafting.eagle.draft import EagleDraft
from univer.drafting.eagle.head import EagleHead

SIZES = (WIDTH, WIDTH, HEADS, KV_HEADS, HEAD_DIM, INNER, VOCABULARY)


@cache
def random_draft(family: str, variant: int, reduced: bool) -> EagleDraft:
    """A head without any training; tests share it, so none may change it."""
    features = (LAST,) if variant == 1 else (0, 1, 2)
    config = EagleConfig(variant, *SIZES, len(DRAFT_TOKENS) if reduced else VOCABULARY, features)
    with torch.random.fork_rng():
        torch.manual_seed(variant)
        head = EagleHead(config).eval()
        for parameter in head.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    if reduced:
        head.set_vocabulary(DRAFT_TOKENS)
    return EagleDraft(head, tiny(family))


@cache
def exact_draft(family: str, variant: int, reduced: bool) -> tuple[EagleDraft, Any]:
    """The same head and its target in float64, where rounding cannot hide a difference."""
    target = copy.deepcopy(tiny(family)).double()
    return EagleDraft(copy.deepcopy(random_draft(family, variant, reduced).head).double(), target), target


def features_of(target: Any, tokens: list[int], layers: tuple[int, ...]) -> torch.Tensor:
    """The target's hidden states over a text, by transformers' own output of them."""
    with torch.no_grad():
        states = target(torch.tensor([tokens]), output_hidden_states=True).hidden_states
    return torch.cat([states[layer][0] for layer in layers], -1)
