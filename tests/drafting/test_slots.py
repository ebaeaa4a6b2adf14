import pytest
import torch

from univer.drafting.slots import NodeSlots, draw_sampled

ROW = torch.tensor([[0.4, 0.1, 0.3, 0.2, 0.0]], dtype=torch.float64)


def grid(count: int, slots: int) -> torch.Tensor:
    """Midpoints of a grid over `slots` uniforms, `[count ** slots, slots]`."""
    axis = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    return torch.cartesian_prod(*[axis] * slots).reshape(-1, slots)


def test_slots_without_support_are_not_created() -> None:
    point = torch.tensor([[0.0, 1.0, 0.0]])
    assert draw_sampled([NodeSlots((1,), 1)], point, "greedy", torch.tensor([0.5])) == [[]]
    assert draw_sampled([NodeSlots((), 3)], point, "swor", torch.full((3,), 0.5)) == [[1]]
    assert draw_sampled([NodeSlots((), 3)], point, "iid", torch.full((3,), 0.5)) == [[1, 1, 1]]


def test_sampled_children_follow_their_laws() -> None:
    """On a grid of uniforms each draw is exact: the second excludes the first, both exclude the fixed child."""
    count = 120
    coins = grid(count, 2)
    decisions = [NodeSlots((0,), 2)] * len(coins)
    first, second = torch.tensor(draw_sampled(decisions, ROW.expand(len(coins), -1), "mixed", coins.flatten())).T
    chances = first.bincount(minlength=5) / len(coins)
    torch.testing.assert_close(chances, torch.tensor([0, 1 / 6, 1 / 2, 1 / 3, 0]), rtol=0, atol=1e-6)
    after_two = second[first == 2].bincount(minlength=5) / int((first == 2).sum())
    torch.testing.assert_close(after_two, torch.tensor([0, 1 / 3, 0, 2 / 3, 0]), rtol=0, atol=1e-6)


def test_iid_draws_repeat() -> None:
    coins = grid(100, 2)
    tokens = draw_sampled([NodeSlots((), 2)] * len(coins), ROW.expand(len(coins), -1), "iid", coins.flatten())
    equal = sum(first == second for first, second in tokens) / len(tokens)
    assert equal == pytest.approx(0.16 + 0.01 + 0.09 + 0.04, abs=1e-9)


@pytest.mark.parametrize("law", ["mixed", "iid"])
def test_a_level_draws_what_its_nodes_draw_alone(law: str) -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.rand(5, 7, generator=generator, dtype=torch.float64) ** 4
    fixed = ((), (2,), (0, 6), (1,), ()) if law == "mixed" else ((),) * 5
    decisions = [NodeSlots(tokens, count) for tokens, count in zip(fixed, (2, 0, 3, 1, 1), strict=True)]
    coins = torch.rand(7, generator=generator, dtype=torch.float64)
    own = [coins[0:2], coins[2:2], coins[2:5], coins[5:6], coins[6:7]]
    alone = [draw_sampled([decisions[node]], rows[node : node + 1], law, own[node])[0] for node in range(5)]
    assert draw_sampled(decisions, rows, law, coins) == alone


def test_rows_are_not_modified() -> None:
    for decision, law in ((NodeSlots((1,), 2), "mixed"), (NodeSlots((), 2), "swor"), (NodeSlots((), 1), "chain")):
        row = ROW.clone()
        draw_sampled([decision], row, law, torch.tensor([0.1, 0.2], dtype=torch.float64))
        assert torch.equal(row, ROW)
