"""Measuring an experiment is `compare` on every prompt, in an order that interruptions do not change."""

from zlib import crc32

import pytest
import torch

from tiny_models import tiny_llama
from univer.bench.compare import compare
from univer.bench.experiments import Experiment
from univer.bench.folder import key
from univer.bench.reproduce import measure
from univer.drafting.independent import IndependentDraft
from univer.models.prompts import Prompt

SMALL = Experiment("small", "?", {"2x2": ("rrsw", "univer"), "chain-2": ("block",)}, (0.5, 1.0), places=2)
PROMPTS = [(Prompt(str(seed), "kind", ""), torch.tensor([[5 + seed, 9, 30 + seed]])) for seed in range(2)]


@pytest.fixture(scope="module")
def models() -> tuple[torch.nn.Module, IndependentDraft]:
    return tiny_llama(0), IndependentDraft(tiny_llama(1), "other")


def test_every_cell_of_every_prompt_is_measured_once(models: tuple[torch.nn.Module, IndependentDraft]) -> None:
    records = list(measure(*models, PROMPTS, SMALL, new_tokens=12))
    assert len({key(record) for record in records}) == len(records) == 2 * 2 * 3
    assert {record["temperature"] for record in records} == {0.5, 1.0}
    for record in records:
        assert all(1 <= tau <= 3 for tau in record["taus"])
        assert record["error"] == 0


def test_what_is_done_is_left_out_and_the_rest_is_the_same(models: tuple[torch.nn.Module, IndependentDraft]) -> None:
    whole = list(measure(*models, PROMPTS, SMALL, new_tokens=12))
    rest = list(measure(*models, PROMPTS, SMALL, new_tokens=12, done={key(record) for record in whole[:4]}))
    assert rest == whole[4:]


def test_a_prompt_alone_gives_what_it_gives_among_others(models: tuple[torch.nn.Module, IndependentDraft]) -> None:
    whole = list(measure(*models, PROMPTS, SMALL, new_tokens=12))
    alone = list(measure(*models, PROMPTS[1:], SMALL, new_tokens=12))
    assert alone == [record for record in whole if record["prompt"] == PROMPTS[1][0].name]


def test_the_figures_are_those_of_compare(models: tuple[torch.nn.Module, IndependentDraft]) -> None:
    records = list(measure(*models, PROMPTS[:1], SMALL.sized(), new_tokens=12))
    compared = compare(
        *models,
        PROMPTS[:1],
        ["2x2"],
        ["rrsw", "univer"],
        places=2,
        drafted=1,
        new_tokens=12,
        seed=crc32(b"0 0"),
    )
    for name in ("rrsw", "univer"):
        [record] = [
            record
            for record in records
            if (record["tree"], record["method"], record["temperature"]) == ("2x2", name, 1.0)
        ]
        assert record["taus"] == compared.taus["0"]["2x2", name]
