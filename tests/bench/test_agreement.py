"""Whether methods did the work of plain decoding."""

from typing import Any

from univer.bench.agreement import disagreements


def record(method: str, **others: Any) -> dict[str, Any]:
    common = {"prompt": "1", "draft": None, "tree": None, "temperature": 0.0, "history": 5, "tokens": 4}
    return common | {"method": method, "answers": [[1, 2], [3, 4]]} | others


def test_the_first_token_that_differs_is_named() -> None:
    [found] = disagreements([record("univer", answers=[[1, 2], [9, 9]]), record("plain")])
    assert found == {
        "prompt": "1",
        "draft": None,
        "tree": None,
        "method": "univer",
        "temperature": 0.0,
        "about": "text",
        "turn": 2,
        "step": 1,
        "token": 9,
        "plain": 3,
    }


def test_texts_may_differ_above_temperature_0() -> None:
    warm = {"temperature": 1.0}
    assert disagreements([record("plain", **warm), record("univer", answers=[[7, 7], [7, 7]], **warm)]) == []


def test_another_length_and_another_history_are_told_at_every_temperature() -> None:
    warm = {"temperature": 1.0}
    found = disagreements([record("plain", **warm), record("univer", tokens=3, history=6, **warm)])
    assert [entry["about"] for entry in found] == ["history", "tokens"]


def test_after_another_history_no_text_is_compared() -> None:
    found = disagreements([record("plain"), record("univer", history=6, answers=[[7, 7], [7, 7]])])
    assert [entry["about"] for entry in found] == ["history"]


def test_without_plain_decoding_there_is_nothing_to_compare() -> None:
    assert disagreements([record("univer")]) == []
