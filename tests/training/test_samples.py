"""Samples are drawn from the target's own distributions, in batches that can be resumed."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tiny_models import byte_tokenizer
from training.pairs import target
from univer.laws import sample
from univer.training.samples import OPENING, batch_size, opening, plan_shards, sample_shards, sample_texts


def test_the_opening_is_the_chat_up_to_the_user_s_words() -> None:
    tokenizer = byte_tokenizer()
    assert tokenizer.decode(opening(tokenizer)) == "<|im_start|>user\n"
    tokenizer.chat_template = None
    assert opening(tokenizer) == [tokenizer.bos_token_id]


@pytest.mark.parametrize("lengths", [[5, 5], [2, 6, 4]])
def test_tokens_are_drawn_from_the_distributions_of_whole_texts(lengths: list[int]) -> None:
    """Without a cache and without padding the same uniforms give the same tokens."""
    prompts = [list(range(10, 10 + length)) for length in lengths]
    drawn = sample_texts(target(), prompts, 6, torch.Generator().manual_seed(4), temperature=0.7)
    generator = torch.Generator().manual_seed(4)
    texts = [list(prompt) for prompt in prompts]
    with torch.no_grad():
        for _ in range(6):
            uniforms = torch.rand(len(texts), generator=generator, dtype=torch.float64)
            for text, uniform in zip(texts, uniforms, strict=True):
                row = torch.softmax(target()(torch.tensor([text])).logits[:, -1] / 0.7, -1)
                text.append(int(sample(row, uniform[None])))
    assert drawn.tolist() == [text[-6:] for text in texts]


def test_batches_alternate_and_use_every_prompt_alike() -> None:
    lengths = [7, 3, 9, 5, 4]
    shards = plan_shards(lengths, texts=70, size=8, seed=1)
    assert [len(shard) for shard in shards] == [8] * 8 + [6]
    assert all(set(shard) == {OPENING} for shard in shards[::2])
    counts = Counter(prompt for shard in shards[1::2] for prompt in shard)
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert max(counts.values()) - min(counts.values()) <= 1
    assert all(shard == sorted(shard, key=lengths.__getitem__) for shard in shards[1::2])
    assert plan_shards([], 10, 8, seed=1) == [[OPENING] * 8, [OPENING] * 2]


def test_long_texts_of_large_models_are_sampled_few_at_a_time() -> None:
    sizes: dict[str, Any] = {"num_attention_heads": 32, "num_hidden_layers": 32, "hidden_size": 4096}
    assert batch_size(SimpleNamespace(**sizes), texts=5000, tokens=512, width=2) == 4
    assert batch_size(SimpleNamespace(**sizes, num_key_value_heads=8), texts=5000, tokens=512, width=2) == 16
    assert batch_size(SimpleNamespace(**sizes), texts=8, tokens=4, width=2) == 1


def _sampled(folder: Path, tick: Any = lambda done, total: None, **changes: Any) -> Any:
    folder.mkdir(exist_ok=True)
    settings: dict[str, Any] = {"samples": 100, "length": 10, "temperature": 1.0, "seed": 3, "folder": folder}
    return sample_shards(target(), byte_tokenizer(), ["one", "another"], tick=tick, **settings | changes)


def test_an_interrupted_run_comes_to_the_same_texts(tmp_path: Path) -> None:
    whole = _sampled(tmp_path / "whole")
    seen: list[int] = []

    def interrupt(done: int, total: int) -> None:
        assert total == 100
        seen.append(done)
        if done > 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _sampled(tmp_path / "parts", interrupt)
    assert seen == sorted(seen)
    kept = [path.stat().st_mtime_ns for path in sorted((tmp_path / "parts").iterdir())]
    assert kept
    resumed = _sampled(tmp_path / "parts")
    assert [path.stat().st_mtime_ns for path in sorted((tmp_path / "parts").iterdir())][: len(kept)] == kept
    for name in ("tokens", "lengths", "starts", "groups"):
        assert torch.equal(getattr(resumed, name), getattr(whole, name))


def test_texts_hold_their_prompts_and_know_where_these_end(tmp_path: Path) -> None:
    texts = _sampled(tmp_path)
    tokenizer = byte_tokenizer()
    assert len(texts) == 10
    assert (texts.lengths - texts.starts).tolist() == [10] * 10
    begun = {tokenizer.decode(row[:start]) for row, start in zip(texts.rows(), texts.starts.tolist(), strict=True)}
    user = "<|im_start|>user\n"
    assert begun == {user, *(f"{user}{text}<|im_end|>\n<|im_start|>assistant\n" for text in ("one", "another"))}
    # Texts from one prompt are one group; every text from the opening is one of its own.
    assert len(set(texts.groups.tolist())) == int((texts.starts == len(opening(tokenizer))).sum()) + 2


def test_a_target_without_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the target has 512 positions, too few for a prompt and length 500"):
        _sampled(tmp_path, length=500)
