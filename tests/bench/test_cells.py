"""What is measured: everything that fits together, and a word about what does not."""

import pytest

from tiny_models import tiny_llama
from univer.bench.cells import cells_of, fitting
from univer.drafting.base import Draft
from univer.engine.drafts import as_draft


def draft(name: str) -> Draft:
    found = as_draft(name, tiny_llama(0))
    assert found is not None
    return found


def test_plain_decoding_comes_first_at_every_temperature() -> None:
    cells, left_out = cells_of({"2x2": ["univer"], "chain-3": ["token"]}, {"d": draft("skip=1")}, [0.0, 1.0])
    assert [tuple(cell.labels.values()) for cell in cells] == [
        (None, None, "plain", 0.0),
        (None, None, "plain", 1.0),
        ("d", "2x2", "univer", 0.0),
        ("d", "chain-3", "token", 0.0),
        ("d", "2x2", "univer", 1.0),
        ("d", "chain-3", "token", 1.0),
    ]
    assert left_out == []


def test_a_draft_of_fixed_tokens_goes_without_methods_that_sample_all_children() -> None:
    grid = {"2x2": ["rrsw", "univer"]}
    cells, left_out = cells_of(grid, {"lookup": draft("lookup"), "d": draft("skip=1")}, [1.0])
    assert [(cell.draft, cell.labels["method"]) for cell in cells[1:]] == [
        ("lookup", "univer"),
        ("d", "rrsw"),
        ("d", "univer"),
    ]
    [note] = left_out
    assert note.startswith("rrsw on the tree 2x2 with lookup at temperature 1: ")
    with pytest.raises(ValueError, match="none of the methods can use the draft lookup"):
        cells_of({"2x2": ["rrsw"]}, {"lookup": draft("lookup")}, [1.0])


@pytest.mark.parametrize(
    ("trees", "names", "message"),
    [
        (["2x5"], ["unver"], "unknown method 'unver'"),
        (["2x5"], ["univer:best"], "unknown sibling order 'best'"),
        (["2y5", "2x5"], ["univer"], "unknown tree"),
        (["grow"], ["spectr", "univer"], "does not support the sampling scheme 'iid'"),
        (["2x5", "2x5"], ["univer"], "'2x5' is named twice"),
        (["2x5"], ["univer", "univer"], "'univer' is named twice"),
    ],
)
def test_what_is_unknown_or_fits_nothing_is_refused(trees: list[str], names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitting(trees, names)
