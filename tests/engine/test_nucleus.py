"""Top-p without sorting the vocabulary, against a sort of it."""

import math

import pytest
import torch
from transformers import TopPLogitsWarper

from univer.engine import nucleus
from univer.engine.nucleus import HEAD, keep_nucleus


def zipf_like(rows=24, size=4000, seed=0):
    """Rows like those of language models, from very peaked to nearly flat."""
    generator = torch.Generator().manual_seed(seed)
    falling = -(torch.arange(size) + 1.0).log()
    order = torch.stack([torch.randperm(size, generator=generator) for _ in range(rows)])
    return falling[order] * torch.linspace(0.3, 3, rows)[:, None] + torch.randn(rows, size, generator=generator)


@pytest.mark.parametrize("top_p", [0.05, 0.5, 0.8, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("seed", range(5))
def test_masks_equal_those_of_transformers_where_no_scores_are_equal(top_p, seed):
    scores = zipf_like(seed=seed)
    assert torch.equal(keep_nucleus(scores, top_p), TopPLogitsWarper(top_p)(None, scores))


@pytest.mark.parametrize("top_p", [0.05, 0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("seed", range(5))
def test_among_equal_scores_as_many_are_kept_as_in_transformers(top_p, seed):
    scores = zipf_like(seed=seed).bfloat16().float()
    ours, theirs = keep_nucleus(scores, top_p), TopPLogitsWarper(top_p)(None, scores)
    assert torch.equal(ours.sort().values, theirs.sort().values)
    unequal = ours != theirs
    # They differ in the last of the kept scores only, and ours are the lowest ids that have it.
    for row in unequal.any(-1).nonzero()[:, 0].tolist():
        smallest = ours[row][ours[row] > -math.inf].min()
        assert (scores[row][unequal[row]] == smallest).all()
        ids = (scores[row] == smallest).nonzero()[:, 0]
        kept = ours[row][ids] > -math.inf
        assert kept.tolist() == sorted(kept.tolist(), reverse=True)


def test_equal_scores_keep_the_lowest_ids():
    assert keep_nucleus(torch.zeros(1, 8), 0.4).isfinite().tolist() == [[True] * 4 + [False] * 4]
    assert keep_nucleus(torch.zeros(1, 4 * HEAD), 0.4).isfinite().sum() == math.ceil(0.4 * 4 * HEAD)


def test_only_few_rows_are_sorted_in_full(monkeypatch):
    sorted_rows = []
    whole = nucleus._sorted_in_full
    monkeypatch.setattr(
        nucleus, "_sorted_in_full", lambda rows, top_p: (sorted_rows.append(len(rows)), whole(rows, top_p))[1]
    )
    scores = zipf_like(rows=60)[20:].bfloat16().float()
    keep_nucleus(scores, 0.9)
    assert sum(sorted_rows) < 8


def test_the_likeliest_token_always_stays():
    scores = torch.tensor([[0.0, 5.0, 1.0]])
    assert keep_nucleus(scores, 1e-9).isfinite().tolist() == [[False, True, False]]


def test_rows_with_nan_are_left_for_the_law_to_refuse():
    scores = zipf_like(rows=3)
    scores[1, 7] = math.nan
    filtered = keep_nucleus(scores, 0.9)
    assert filtered[1].isnan().any()
    assert torch.equal(filtered[[0, 2]], TopPLogitsWarper(0.9)(None, scores[[0, 2]]))
