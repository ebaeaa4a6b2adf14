"""The rows of a comparison are checked before work starts."""

import pytest

from univer.bench.rows import chosen_rows, describe, described_growths, growths_of, rows_for


def test_unknown_and_repeated_names_are_rejected() -> None:
    with pytest.raises(ValueError, match="unknown method 'unver'"):
        rows_for(["2x5"], ["unver"])
    with pytest.raises(ValueError, match="unknown tree"):
        rows_for(["5y2"])
    with pytest.raises(ValueError, match="unknown sibling order 'foo'"):
        rows_for(["2x5"], ["univer:foo"])
    with pytest.raises(ValueError, match="'univer' on the tree '2x5' is named twice"):
        rows_for(["2x5"], ["univer", "univer"])
    assert rows_for(["2x5"], ["univer:gain"])[0].order == "gain"


def test_a_manifest_names_rows_and_growths_so_that_they_can_be_read_again() -> None:
    rows = rows_for(["2x3", "grow:nodes=12,depth=3"], ["univer", "univer:gain", "mixed"]) + rows_for(["2x3"], ["token"])
    described = describe(rows)
    assert described_growths(described["growths"]) == growths_of(rows)
    assert {(row.tree, row.name) for row in chosen_rows(described)} == {(row.tree, row.name) for row in rows}
    with pytest.raises(ValueError, match="'rrsw' needs 2x3 trees of the sampling scheme 'swor', which the trace lacks"):
        chosen_rows(described, ["2x3"], ["rrsw"])
    with pytest.raises(ValueError, match="the trace has no tree '3x3'"):
        chosen_rows(described, ["3x3"])
