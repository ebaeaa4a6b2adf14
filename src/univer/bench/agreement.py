"""Whether every method generated as many tokens as plain decoding, and at temperature 0 the same text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from univer.bench.folder import KEY, Record
from univer.bench.summary import PLAIN


def disagreements(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Where records of a live run disagree with those of plain decoding on the same prompts.

    Args:
        records: records of live runs, in any order.

    Returns:
        For each the names of the record and `about`: `"tokens"` (answers of another length), `"history"` (another
        prompt was read) or, at temperature 0, `"text"`; with the `turn` and the `step` of the first token that
        differs, both from 1, the token and that of plain decoding.

    Example:
        >>> common = {"prompt": "1", "draft": None, "tree": None, "temperature": 0.0, "history": 5, "tokens": 3}
        >>> plain = common | {"method": "plain", "answers": [[7, 8, 9]]}
        >>> [found] = disagreements([plain, common | {"method": "univer", "answers": [[7, 8, 4]]}])
        >>> found["about"], found["turn"], found["step"], found["token"], found["plain"]
        ('text', 1, 3, 4, 9)
    """
    plain = {(record["prompt"], record["temperature"]): record for record in records if record["method"] == PLAIN}
    found = []
    for record in records:
        reference = plain.get((record["prompt"], record["temperature"]))
        if reference is None:
            continue
        names = {name: record[name] for name in KEY}
        found += [names | {"about": about} for about in ("history", "tokens") if record[about] != reference[about]]
        if record["temperature"] == 0 and record["history"] == reference["history"]:
            first = _first_difference(record["answers"], reference["answers"])
            found += [names | {"about": "text"} | first] if first else []
    return found


def _first_difference(answers: Sequence[Sequence[int]], reference: Sequence[Sequence[int]]) -> dict[str, int] | None:
    for turn, (answer, plain_answer) in enumerate(zip(answers, reference, strict=True), start=1):
        for step, (token, plain) in enumerate(zip(answer, plain_answer, strict=False), start=1):
            if token != plain:
                return {"turn": turn, "step": step, "token": token, "plain": plain}
    return None
