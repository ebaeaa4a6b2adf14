"""Runs of other settings are refused, with what differs."""

import pytest

from univer.bench.settings import check_same


def test_equal_settings_pass() -> None:
    check_same({"a": 1, "b": {"c": []}}, {"b": {"c": []}, "a": 1}, "there is a run")


@pytest.mark.parametrize(
    ("held", "wanted", "message"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, r"there is a run with a\.b = 1, not 2: choose another folder"),
        ({}, {"seed": 0}, "seed = None, not 0"),
        ({"weights_checksum": 1}, {"weights_checksum": 2}, "with models of other weights, though of the same names"),
        ({}, {"weights_checksum": 2}, "of an earlier version, which kept no weights_checksum"),
        ({"ids_checksum": 1}, {"ids_checksum": 2}, "by another tokenizer or chat template"),
        ({"prompts_checksum": 1}, {"prompts_checksum": 2}, "with prompts of other texts"),
        ({"dtype": "a", "weights_checksum": 1}, {"dtype": "b", "weights_checksum": 2}, "dtype = 'a', not 'b'"),
    ],
)
def test_what_differs_is_named(held: dict[str, object], wanted: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_same(held, wanted, "there is a run")
