"""Which prompts are asked: the same for the same seed, whatever else is asked."""

from collections import Counter

import pytest

from univer.bench import Prompt
from univer.bench.questions import MT_BENCH, MULTI_TURN, choose

PROMPTS = [Prompt(f"{kind}-{number}", kind, "text") for kind in (*sorted(MT_BENCH), "qa", "rag") for number in range(6)]


def test_the_categories_of_mt_bench_are_one_group() -> None:
    counted = Counter(prompt.kind for prompt in choose(PROMPTS))
    assert counted == {MULTI_TURN: 48, "qa": 6, "rag": 6}


def test_groups_come_in_turn() -> None:
    assert [prompt.kind for prompt in choose(PROMPTS, count=2)] == [MULTI_TURN, "qa", "rag"] * 2


def test_a_seed_draws_the_same_prompts_whichever_groups_are_taken() -> None:
    drawn = [prompt.name for prompt in choose(PROMPTS, count=3, seed=4)]
    assert drawn == [prompt.name for prompt in choose(PROMPTS, count=3, seed=4)]
    alone = [prompt.name for prompt in choose(PROMPTS, ["rag"], 3, 4)]
    assert alone == [name for name in drawn if name.startswith("rag")]
    assert any(choose(PROMPTS, ["rag"], 3, seed) != choose(PROMPTS, ["rag"], 3, 4) for seed in range(3))


def test_a_small_group_gives_what_it_has() -> None:
    assert Counter(prompt.kind for prompt in choose(PROMPTS, count=10)) == {MULTI_TURN: 10, "qa": 6, "rag": 6}


def test_what_cannot_be_told_apart_or_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="two prompts are called 'a'"):
        choose([Prompt("a", "qa", "1"), Prompt("a", "rag", "2")])
    with pytest.raises(ValueError, match="no task group 'poetry'; there are multi-turn conversation, qa, rag"):
        choose(PROMPTS, ["poetry"])
