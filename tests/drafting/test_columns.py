import pytest
import torch

from univer.drafting.builder import TreeBuilder
from univer.drafting.columns import EVERY_TOKEN, DraftVocabulary
from univer.drafting.growth import Guess, draft_tree
from univer.drafting.growth.estimates import candidates
from univer.drafting.growth.parse import parse_tree
from univer.drafting.slots import NodeSlots, draw_sampled

IDS, SIZE = torch.tensor([2, 3, 7, 11, 12, 20]), 24
NARROW = DraftVocabulary(IDS, SIZE)


def laws(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The same distributions over the draft vocabulary and over all tokens, the first two entries of each equal."""
    rows = torch.randn(count, len(IDS), generator=torch.Generator().manual_seed(count))
    rows[:, 1] = rows[:, 0]
    rows = rows.softmax(-1)
    return rows, torch.stack(list(NARROW.whole(list(rows))))


def test_whole_rows_hold_the_very_numbers_and_zeros() -> None:
    narrow, whole = laws(5)
    assert torch.equal(whole[:, IDS], narrow)
    assert int((whole > 0).sum()) == narrow.numel()
    assert EVERY_TOKEN.whole(whole) is whole


@pytest.mark.parametrize("law", ["mixed", "swor", "iid"])
def test_draws_are_those_from_whole_rows(law: str) -> None:
    narrow, whole = laws(200)
    # Token 5 lies outside the draft vocabulary, 7 inside.
    slots = NodeSlots((5, 7), 3) if law == "mixed" else NodeSlots((), 3)
    coins = torch.rand(600, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    drawn = draw_sampled([slots] * 200, narrow, law, coins, NARROW)
    assert drawn == draw_sampled([slots] * 200, whole, law, coins)
    assert {token for tokens in drawn for token in tokens} <= set(IDS.tolist())


def test_candidates_are_those_of_whole_rows() -> None:
    narrow, whole = laws(6)
    guesses = [[Guess(5, 0.5), Guess(11, 0.01)]] * 6
    assert candidates(narrow, 4, guesses, NARROW) == candidates(whole, 4, guesses)
    assert candidates(narrow[:, :0], 4, guesses, NARROW)[0][0].token == 5


@pytest.mark.parametrize("tree", ["2x2", "grow:nodes=12,depth=3", "eagle2:nodes=8,depth=3"])
def test_trees_are_those_of_whole_rows(tree: str) -> None:
    narrow, whole = laws(30)

    def grown(rows: torch.Tensor, columns: object) -> tuple[list[int], dict[int, list[float]]]:
        def read(builder: TreeBuilder, nodes: list[int]) -> torch.Tensor:
            return rows[nodes]

        growth = parse_tree(tree).start("mixed", greedy=False).begin(3)
        coins = torch.Generator().manual_seed(7)
        drafted = draft_tree(0, growth, read, coins, torch.device("cpu"), columns=columns).tree
        return drafted.tokens.tolist(), {node: row.tolist() for node, row in drafted.draft_laws.items()}

    assert grown(narrow, NARROW) == grown(whole, EVERY_TOKEN)


@pytest.mark.parametrize("ids", [[3, 2], [2, 2], [-1, 4], [4, SIZE]])
def test_ids_rise_within_the_vocabulary(ids: list[int]) -> None:
    with pytest.raises(ValueError, match="rising order"):
        DraftVocabulary(torch.tensor(ids), SIZE)
