import pytest
import torch

from univer.drafting.slots import draw_children

ROW = torch.tensor([[0.4, 0.1, 0.3, 0.2, 0.0]], dtype=torch.float64)


def grid(count: int, slots: int) -> torch.Tensor:
    """Midpoints of a grid over `slots` uniforms, `[count ** slots, slots]`."""
    axis = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    return torch.cartesian_prod(*[axis] * slots).reshape(-1, slots)


def test_fixed_children_are_the_top_with_ties_to_the_lowest_id() -> None:
    rows = torch.tensor([[0.2, 0.3, 0.3, 0.2]])
    tokens, created = draw_children(rows, 3, 0, "fixed", torch.zeros(1, 0))
    assert tokens.tolist() == [[1, 2, 0]]
    assert created.all()


def test_scores_rank_the_fixed_children() -> None:
    scores = torch.tensor([[0.0, 9.0, 1.0, 5.0, 0.0]], dtype=torch.float64)
    tokens, _ = draw_children(ROW, 2, 0, "fixed", torch.zeros(1, 0), scores)
    assert tokens.tolist() == [[1, 3]]


def test_slots_without_support_are_not_created() -> None:
    point = torch.tensor([[0.0, 1.0, 0.0]])
    tokens, created = draw_children(point, 1, 1, "greedy", torch.tensor([[0.5]]))
    assert created.tolist() == [[True, False]]
    assert tokens[0, 0] == 1
    _, created = draw_children(point, 0, 3, "swor", torch.full((1, 3), 0.5))
    assert created.tolist() == [[True, False, False]]
    _, created = draw_children(point, 0, 3, "iid", torch.full((1, 3), 0.5))
    assert created.all()
    _, created = draw_children(point, 5, 0, "fixed", torch.zeros(1, 0))
    assert created.tolist() == [[True, False, False]]


def test_sampled_children_follow_their_laws() -> None:
    """On a grid of uniforms each draw has exactly its law, the second one without the first, both without the fixed."""
    count = 120
    coins = grid(count, 2)
    rows = ROW.expand(len(coins), -1)
    tokens, created = draw_children(rows, 1, 2, "mixed", coins)
    assert created.all()
    assert (tokens[:, 0] == 0).all()
    first, second = tokens[:, 1], tokens[:, 2]
    chances = first.bincount(minlength=5) / len(coins)
    torch.testing.assert_close(chances, torch.tensor([0, 1 / 6, 1 / 2, 1 / 3, 0]), rtol=0, atol=1e-6)
    after_two = second[first == 2].bincount(minlength=5) / int((first == 2).sum())
    torch.testing.assert_close(after_two, torch.tensor([0, 1 / 3, 0, 2 / 3, 0]), rtol=0, atol=1e-6)


def test_iid_draws_repeat() -> None:
    tokens, _ = draw_children(ROW.expand(10_000, -1), 0, 2, "iid", grid(100, 2))
    assert (tokens[:, 0] == tokens[:, 1]).double().mean().item() == pytest.approx(0.16 + 0.01 + 0.09 + 0.04, abs=1e-9)


def test_rows_are_not_modified() -> None:
    row = ROW.clone()
    draw_children(row, 1, 2, "mixed", torch.tensor([[0.1, 0.2]], dtype=torch.float64))
    draw_children(row, 0, 1, "chain", torch.tensor([[0.1]], dtype=torch.float64))
    assert torch.equal(row, ROW)
