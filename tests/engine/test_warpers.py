"""Sampling settings against transformers' own warpers, at the edges and out of range."""

import math

import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from univer.engine import Sampling
from univer.engine.warpers import greedy_tokens


def logits_like(kind, rows=40, size=1500):
    generator = torch.Generator().manual_seed(7)
    logits = 3 * torch.randn(rows, size, generator=generator)
    if kind == "ties":
        logits = logits.bfloat16().float()
    if kind == "holes":
        logits[:, ::3] = -math.inf
    if kind == "flat":
        logits = torch.zeros(rows, size)
    return logits


@pytest.mark.parametrize("kind", ["plain", "holes"])
@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.7},
        {"top_k": 1},
        {"top_k": 40},
        {"top_k": 5000},
        {"top_p": 1e-9},
        {"top_p": 0.3},
        {"top_p": 0.9},
        {"top_p": 0.9999},
        {"top_p": 1.0},
        {"min_p": 0.05},
        {"temperature": 1.5, "top_k": 50, "top_p": 0.9, "min_p": 0.02},
        {"temperature": 100.0, "top_p": 0.5},
        {"temperature": 1e-3, "top_p": 0.5},
    ],
)
def test_masks_and_scores_equal_those_of_transformers(kind, settings):
    logits = logits_like(kind)
    sampling = Sampling(**settings)
    warpers = LogitsProcessorList()
    if sampling.temperature != 1:
        warpers.append(TemperatureLogitsWarper(sampling.temperature))
    if sampling.top_k is not None:
        warpers.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p is not None and sampling.top_p < 1:
        warpers.append(TopPLogitsWarper(sampling.top_p))
    if sampling.min_p is not None:
        warpers.append(MinPLogitsWarper(sampling.min_p))
    before = logits.clone()
    assert torch.equal(sampling.warp(logits), warpers(torch.zeros(len(logits), 0, dtype=torch.long), logits))
    assert torch.equal(logits, before)


@pytest.mark.parametrize("temperature", [0, 1e-6, 1e-3, 1, 100])
@pytest.mark.parametrize("kind", ["plain", "holes", "flat"])
def test_fault_28_every_temperature_gives_laws(temperature, kind):
    logits = logits_like(kind)
    laws = Sampling(temperature=temperature).distributions(logits)
    assert laws.dtype == torch.float32
    torch.testing.assert_close(laws.sum(-1), torch.ones(len(laws)))
    assert (laws[logits == -math.inf] == 0).all()
    if temperature == 0:
        assert torch.equal(laws.argmax(-1), logits.argmax(-1))
        assert (laws.amax(-1) == 1).all()


def test_fault_28_top_k_of_one_is_greedy():
    logits = logits_like("plain")
    laws = Sampling(top_k=1).distributions(logits)
    assert torch.equal(laws, Sampling(temperature=0).distributions(logits))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1.0}, "temperature must be 0"),
        ({"temperature": math.nan}, "temperature must be 0"),
        ({"temperature": math.inf}, "temperature must be 0"),
        ({"temperature": 1e-9}, "use temperature=0"),
        ({"top_k": 0}, "top_k must be a whole number of at least 1"),
        ({"top_k": -3}, "top_k"),
        ({"top_k": 2.5}, "top_k"),
        ({"top_p": 0.0}, r"top_p must be in \(0, 1\]"),
        ({"top_p": 1.01}, "top_p"),
        ({"min_p": -0.1}, "min_p"),
        ({"min_p": 1.5}, "min_p"),
    ],
)
def test_fault_28_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Sampling(**settings)


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p"])
@pytest.mark.parametrize("value", ["hot", [1], True])
def test_fault_28_settings_that_are_no_numbers_are_refused(name, value):
    with pytest.raises(TypeError, match=f"^{name} must be a number"):
        Sampling(**{name: value})


def test_fault_28_a_temperature_is_needed():
    with pytest.raises(TypeError, match="temperature must be a number, not None"):
        Sampling(temperature=None)


@pytest.mark.parametrize("settings", [{}, {"temperature": 0}, {"top_p": 0.9}, {"top_k": 2}, {"min_p": 0.1}])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_rows_that_are_no_laws_name_the_step(settings, bad):
    logits = logits_like("plain", rows=3, size=20)
    logits[1, 4] = bad
    with pytest.raises(ValueError, match="round 5: row 1 of the logits"):
        Sampling(**settings).distributions(logits, "round 5")


@pytest.mark.parametrize("settings", [{}, {"temperature": 0}, {"top_p": 0.9}])
def test_rows_without_any_token_name_the_step(settings):
    with pytest.raises(ValueError, match="round 5: row 0 of the logits"):
        Sampling(**settings).distributions(torch.full((2, 8), -math.inf), "round 5")


def test_greedy_ties_fall_as_in_transformers():
    logits = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]).bfloat16()
    assert greedy_tokens(logits) == logits.float().argmax(-1).tolist() == [1, 0]


def test_fault_08_half_precision_logits_give_float32_laws():
    logits = logits_like("plain").bfloat16()
    assert torch.equal(Sampling().distributions(logits), logits.float().softmax(-1))
