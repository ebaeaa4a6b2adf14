"""Texts are cut, told apart and shared out without overlaps."""

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from tiny_models import byte_tokenizer
from training.pairs import random_texts
from univer.training.texts import Texts, frequent_tokens, join, split, token_ranks


def _contents(texts: Texts) -> list[tuple[int, ...]]:
    return [tuple(row.tolist()) for row in texts.rows()]


def test_repeated_and_short_texts_are_left_out() -> None:
    texts = join([[1, 2, 3, 4], [5, 6], [1, 2, 3, 4], [1, 2, 3, 4, 5], [7, 8, 9]], [0, 0, 0, 4, 0], [0, 1, 2, 3, 4])
    kept = texts.without(unroll=2)
    assert _contents(kept) == [(1, 2, 3, 4), (1, 2, 3, 4, 5), (7, 8, 9)]
    assert kept.groups.tolist() == [0, 3, 4]
    assert _contents(texts.without(unroll=3)) == [(1, 2, 3, 4)]


def test_selected_texts_keep_what_belongs_to_them() -> None:
    texts = join([[1, 2], [3], [4, 5, 6]], [1, 0, 2], [7, 8, 9])
    chosen = texts.select([2, 0])
    assert _contents(chosen) == [(4, 5, 6), (1, 2)]
    assert (chosen.starts.tolist(), chosen.groups.tolist()) == ([2, 1], [9, 7])
    assert len(texts.select([])) == 0


@pytest.mark.parametrize("seed", range(4))
def test_no_group_is_on_both_sides(seed: int) -> None:
    texts = random_texts([8] * 200)
    texts = Texts(texts.tokens, texts.lengths, texts.starts, torch.arange(200) // 3)
    train, valid = split(texts, needed=8, seed=seed)
    assert not set(train.groups.tolist()) & set(valid.groups.tolist())
    assert not set(_contents(train)) & set(_contents(valid))
    assert sorted(_contents(train) + _contents(valid)) == sorted(_contents(texts))
    assert 5 <= len(valid) <= 10


def test_one_document_is_shared_out_by_pieces() -> None:
    texts = random_texts([8] * 100)
    texts = Texts(texts.tokens, texts.lengths, texts.starts, torch.zeros(100, dtype=torch.long))
    train, valid = split(texts, needed=8, seed=0)
    assert (len(train), len(valid)) == (95, 5)
    assert not set(_contents(train)) & set(_contents(valid))


def test_a_step_s_texts_stay_for_training() -> None:
    train, valid = split(random_texts([8] * 101), needed=100, seed=0)
    assert (len(train), len(valid)) == (100, 1)


def test_frequent_tokens_in_rising_order_with_ties_to_the_lowest() -> None:
    texts = join([[9, 9, 9, 4, 4, 2, 7]], [0], [0])
    assert frequent_tokens(texts, 3, 12) == ([2, 4, 9], pytest.approx(6 / 7))
    assert frequent_tokens(texts, 6, 12)[0] == [0, 1, 2, 4, 7, 9]


def test_found_21_ranked_tokens_come_first() -> None:
    texts = join([[9, 9, 9, 4, 4, 2, 7, 7, 7, 7]], [0], [0])
    assert frequent_tokens(texts, 3, 12, {2: 1, 11: 2})[0] == [2, 7, 11]
    assert frequent_tokens(texts, 2, 12, {9: 1, 4: 1, 2: 1})[0] == [4, 9]


def test_found_21_special_and_byte_tokens_of_texts_are_ranked() -> None:
    tokenizer = byte_tokenizer()
    ids = tokenizer("<|endoftext|>ab qz").input_ids
    texts = join([ids], [0], [0])
    merge = tokenizer.convert_tokens_to_ids("qz")
    assert merge in ids
    singles = set(ids) - {merge, 0}
    # The end of the text, 2, is ranked although the text holds none.
    assert token_ranks(texts, tokenizer, [2]) == dict.fromkeys(singles, 1) | {0: 2, 2: 2}

    names = ["<unk>", "</s>", "a", "the", "<0x0A>", "<0xF0>"]
    spelled = Tokenizer(models.WordLevel({name: place for place, name in enumerate(names)}, "<unk>"))
    other = PreTrainedTokenizerFast(tokenizer_object=spelled, unk_token="<unk>", eos_token="</s>")
    assert token_ranks(join([[2, 3, 4]], [0], [0]), other, []) == {4: 1}
