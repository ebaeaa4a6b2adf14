import pytest
import torch

from univer.laws import distributions_from_logits, normalise, ratio, sample, top_tokens


def test_low_precision_logits_give_float32_laws() -> None:
    laws = distributions_from_logits(torch.randn(3, 50, generator=torch.Generator().manual_seed(0)).bfloat16())
    assert laws.dtype == torch.float32
    torch.testing.assert_close(laws.sum(-1), torch.ones(3))
    assert distributions_from_logits(torch.zeros(2, dtype=torch.float64)).dtype == torch.float64


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_broken_logits_name_the_step(bad: float) -> None:
    logits = torch.zeros(2, 4)
    logits[1, 2] = bad
    with pytest.raises(ValueError, match="round 3: row 1"):
        distributions_from_logits(logits, "round 3")


def test_a_row_of_minus_infinity_is_an_error() -> None:
    with pytest.raises(ValueError, match="row 0"):
        distributions_from_logits(torch.full((1, 4), -float("inf")))


def test_normalise_keeps_an_empty_row_empty() -> None:
    assert normalise(torch.tensor([[0.0, 0.0], [2.0, 6.0]])).tolist() == [[0, 0], [0.25, 0.75]]


def test_ratio_is_clamped_and_zero_over_nothing() -> None:
    assert ratio(torch.tensor([3.0, 1.0, 1.0, 0.0]), torch.tensor([2.0, 4.0, 0.0, 0.0])).tolist() == [1, 0.25, 0, 0]


def test_sample_never_draws_a_token_of_probability_zero() -> None:
    row = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]])
    below_one = 1 - 2**-53
    coins = torch.tensor([0.0, 0.49999, 0.5, below_one], dtype=torch.float64)
    assert sample(row.expand(4, 5), coins).tolist() == [1, 1, 3, 3]


def test_sample_follows_the_row() -> None:
    row = torch.rand(40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    cells = torch.linspace(0, 1, 20_001, dtype=torch.float64)[:-1] + 1 / 40_000
    counts = sample(row.expand(20_000, 40), cells).bincount(minlength=40)
    # A grid of midpoints errs by at most one cell at either end of a token's interval.
    assert ((counts / 20_000 - row / row.sum()).abs() <= 1 / 20_000 + 1e-12).all()


def test_sample_refuses_a_row_without_mass() -> None:
    for row in (torch.zeros(1, 3), torch.full((1, 3), float("nan"))):
        with pytest.raises(ValueError, match="no mass or contains a NaN"):
            sample(row, torch.tensor([0.5]))


def test_ties_in_a_top_go_to_the_lowest_id() -> None:
    scores = torch.tensor([[0.1, 0.3, 0.3, 0.3], [0.4, 0.1, 0.4, 0.1]])
    tokens, best = top_tokens(scores, 3)
    assert tokens.tolist() == [[1, 2, 3], [0, 2, 1]]
    torch.testing.assert_close(best, scores.gather(1, tokens))


@pytest.mark.parametrize("size", [200, 3000, 8192])
def test_largest_entries_come_in_order_with_ties_to_the_lowest_id(size: int) -> None:
    scores = torch.randn(6, size, generator=torch.Generator().manual_seed(size))
    # Rows without ties, rows with many, rows that are equal all over and rows with few entries above 0.
    rows = torch.cat([scores, scores.mul(2).round(), torch.zeros(1, size)]).softmax(-1)
    rows = torch.cat([rows, rows.where(scores[0] > 2.2, 0)])
    for count in (1, 2, 10):
        tokens, best = top_tokens(rows, count)
        wanted = rows.sort(stable=True, descending=True)
        assert torch.equal(best, wanted.values[:, :count])
        assert torch.equal(tokens[best > 0], wanted.indices[:, :count][best > 0])
        assert all(len(set(row)) == count for row in tokens.tolist())
