"""Live measurements: the same work for every method, the same history, the same records for the same seed."""

from collections import Counter
from typing import Any

import pytest

import univer
from tiny_models import byte_tokenizer, tiny_llama
from univer.bench import Prompt
from univer.bench.agreement import disagreements
from univer.bench.cells import cells_of
from univer.bench.folder import key
from univer.bench.live import LiveBench
from univer.bench.shards import Plan, Shard, shards_of
from univer.engine.drafts import as_draft

PROMPTS = [
    Prompt("81", "multi-turn conversation", "Write a poem.", ("Another one.",)),
    Prompt("301", "qa", "Who wrote it?"),
]
TEMPERATURES = [0.0, 1.0]
TOKENS = 8


def bench(seed: int = 0, tokens: int = TOKENS) -> LiveBench:
    target = tiny_llama(0)
    draft = as_draft("skip=1", target)
    assert draft is not None
    cells, left_out = cells_of({"2x2": ["rrsw", "univer:gain"]}, {"skip=1": draft}, TEMPERATURES)
    assert not left_out
    return LiveBench(target, byte_tokenizer(), cells, tokens=tokens, seed=seed)


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "seconds"}


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return list(bench().records(shards_of(PROMPTS, TEMPERATURES)))


def test_every_cell_has_a_record_of_every_prompt(records: list[dict[str, Any]]) -> None:
    assert len({key(record) for record in records}) == len(records) == 2 * 2 * 3
    assert Counter(record["method"] for record in records) == {"plain": 4, "rrsw": 4, "univer (gain)": 4}


def test_both_sides_commit_the_same_number_of_tokens(records: list[dict[str, Any]]) -> None:
    for record in records:
        turns = 2 if record["prompt"] == "81" else 1
        assert record["tokens"] == TOKENS * turns
        assert [len(answer) for answer in record["answers"]] == [TOKENS] * turns
        assert record["passes"] == record["rounds"] + turns
        if record["method"] == "plain":
            assert record["passes"] == record["tokens"]
            assert (record["tau"], record["draft"], record["tree"]) == (None, None, None)


def test_greedy_texts_are_plain_decoding_s(records: list[dict[str, Any]]) -> None:
    texts: dict[str, set[int]] = {}
    for record in records:
        if record["temperature"] == 0:
            texts.setdefault(record["prompt"], set()).add(record["ids"])
    assert [len(own) for own in texts.values()] == [1, 1]
    assert disagreements(records) == []


def test_all_cells_of_a_temperature_read_the_same_history(records: list[dict[str, Any]]) -> None:
    read = {(record["prompt"], record["temperature"], record["history"]) for record in records}
    assert len(read) == 4
    assert len({history for prompt, _, history in read if prompt == "81"}) == 2, "answers differ by temperature"


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_history_is_plain_decoding_s_own_answer(temperature: float) -> None:
    live = bench()
    first, second = live.inputs(PROMPTS[0], temperature)
    seed = live._seed(PROMPTS[0], 0)
    plain = univer.generate(live.target, None, first, temperature=temperature, max_new_tokens=TOKENS, seed=seed)
    answer = live.tokenizer.decode(plain.sequences[0, first.shape[1] :], skip_special_tokens=True).strip()
    assert live.tokenizer.decode(second[0]) == (
        f"<|im_start|>user\nWrite a poem.<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"
        "<|im_start|>user\nAnother one.<|im_end|>\n<|im_start|>assistant\n"
    )


def test_tau_is_one_and_the_sum_of_survival(records: list[dict[str, Any]]) -> None:
    drafted = [record for record in records if record["method"] != "plain"]
    assert any(record["survival"][1] > 0 for record in drafted)
    for record in drafted:
        assert record["tau"] == pytest.approx(1 + sum(record["survival"]))
        assert len(record["survival"]) == 2
        assert record["nodes"] == 6
        assert record["seconds"]["prefill"] > 0


def test_a_seed_gives_the_same_records_apart_from_times(records: list[dict[str, Any]]) -> None:
    shards = shards_of(PROMPTS, TEMPERATURES)
    again = list(bench().records(shards))
    assert list(map(without_times, again)) == list(map(without_times, records))
    ids = {key(record): record["ids"] for record in records}
    other = list(bench(seed=1).measure(Shard(PROMPTS[1], 1.0, 0)))
    assert all(record["ids"] != ids[key(record)] for record in other)


def test_what_is_done_is_not_measured_again(records: list[dict[str, Any]]) -> None:
    shards = shards_of(PROMPTS, TEMPERATURES)
    done = {key(record) for record in records[:4]}
    rest = list(bench().records(shards, done))
    assert list(map(without_times, rest)) == list(map(without_times, records[4:]))
    assert list(bench().records(shards, {key(record) for record in records})) == []


def test_within_a_group_every_cell_goes_first_equally_often() -> None:
    live = bench()
    prompts = [Prompt(f"{group} {number}", group, "") for number in range(6) for group in ("a", "b", "c")]
    firsts = Counter(
        (shard.prompt.kind, shard.temperature, live.todo(shard)[0].labels["method"])
        for shard in shards_of(prompts, TEMPERATURES)
    )
    assert len(firsts) == 3 * 2 * 3
    assert set(firsts.values()) == {2}


def test_the_order_of_a_prompt_is_the_order_of_its_records(records: list[dict[str, Any]]) -> None:
    live = bench()
    expected = [cell.key(shard.prompt) for shard in shards_of(PROMPTS, TEMPERATURES) for cell in live.todo(shard)]
    assert [key(record) for record in records] == expected


def test_tables_have_the_order_of_the_plan(records: list[dict[str, Any]]) -> None:
    keys = [cell.key(prompt) for prompt in PROMPTS for cell in bench().cells]
    plan = Plan({}, [], keys, [])
    assert [key(record) for record in plan.ordered(records[::-1])] == keys


def test_a_prompt_is_too_long_if_its_answers_do_not_fit() -> None:
    live = bench()
    base = live.excess(Prompt("1", "qa", "")) or live.inputs(Prompt("1", "qa", ""), 0.0)[0].shape[1]
    room = 512 - TOKENS - base
    assert live.excess(Prompt("1", "qa", "x" * room)) == 0
    assert live.excess(Prompt("1", "qa", "x" * (room + 3))) == 3


def test_a_history_that_takes_more_tokens_as_text_is_cut_to_fit() -> None:
    live = bench(tokens=60)
    prompt = Prompt("1", "qa", "x", ("y",))
    while live.excess(prompt) == 0:
        prompt = Prompt("1", "qa", prompt.text + "x", ("y",))
    prompt = Prompt("1", "qa", prompt.text[:-1], ("y",))
    # The random model writes bytes that are no text, each of which stands for three in what is read again.
    inputs = live.inputs(prompt, 1.0)
    assert 512 - 60 - 3 < inputs[1].shape[1] <= 512 - 60
    [record] = list(live.measure(Shard(prompt, 1.0, 0), [cell.key(prompt) for cell in live.cells if cell.row]))
    assert record["tokens"] == 120


def test_answers_need_room_for_a_whole_round() -> None:
    with pytest.raises(ValueError, match="no room for a whole round with the tree 2x2: ask for at least 4 tokens"):
        bench(tokens=3)
