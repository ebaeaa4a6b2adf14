"""What the target thinks of texts is the same from disk, after an interruption, and computed anew."""

from pathlib import Path

import pytest
import torch

from training.pairs import random_texts, target
from univer.runtime.features import FeatureTap
from univer.training import features as module
from univer.training.features import FeatureBatch, FeatureSet, compute_features, read_text

LAYERS = (0, 2, -1)
LENGTHS = [9, 5, 14, 7]


def _text(found: FeatureSet, number: int) -> FeatureBatch:
    """A batch of one text."""
    return found.batch(torch.tensor([number]))


def _equal(first: FeatureSet, second: FeatureSet) -> bool:
    whole = torch.arange(len(LENGTHS))
    return all(map(torch.equal, *(vars(found.batch(whole)).values() for found in (first, second))))


def test_they_are_the_model_s_hidden_states_and_totals(tmp_path: Path) -> None:
    texts = random_texts(LENGTHS)
    found = compute_features(target(), texts, LAYERS, tmp_path)
    with torch.no_grad():
        for number, row in enumerate(texts.rows()):
            text = _text(found, number)
            output = target()(row[None].long(), output_hidden_states=True)
            states = [output.hidden_states[layer][0] for layer in LAYERS]
            torch.testing.assert_close(text.features[0], torch.cat(states, -1).bfloat16())
            torch.testing.assert_close(text.last[0], output.hidden_states[-1][0].bfloat16())
            torch.testing.assert_close(text.log_total[0], output.logits[0].logsumexp(-1))


def test_from_disk_they_equal_fresh_ones(tmp_path: Path) -> None:
    texts = random_texts(LENGTHS)
    compute_features(target(), texts, LAYERS, tmp_path)
    from_disk = compute_features(target(), texts, LAYERS, tmp_path, tick=lambda _: pytest.fail("read again"))
    tap = FeatureTap(target(), (*LAYERS, -1))
    for number, row in enumerate(texts.rows()):
        text = _text(from_disk, number)
        states, total = read_text(target(), tap, row)
        assert torch.equal(torch.cat([text.features[0], text.last[0]], -1), states)
        assert torch.equal(text.log_total[0], total)


def test_an_interrupted_reading_goes_on_where_it_was(tmp_path: Path) -> None:
    texts = random_texts(LENGTHS)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()

    def interrupt(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compute_features(target(), texts, LAYERS, parts, interrupt)
    done: list[int] = []
    resumed = compute_features(target(), texts, LAYERS, parts, done.append)
    assert done == [3, 4]
    assert _equal(resumed, compute_features(target(), texts, LAYERS, whole))


def test_those_of_other_texts_are_not_taken(tmp_path: Path) -> None:
    compute_features(target(), random_texts(LENGTHS, seed=1), LAYERS, tmp_path)
    done: list[int] = []
    texts = random_texts(LENGTHS, seed=2)
    found = compute_features(target(), texts, LAYERS, tmp_path, done.append)
    assert done == [1, 2, 3, 4]
    states, _ = read_text(target(), FeatureTap(target(), LAYERS), next(texts.rows()))
    assert torch.equal(_text(found, 0).features[0], states)


def test_a_batch_is_padded_on_the_right(tmp_path: Path) -> None:
    texts = random_texts(LENGTHS, starts=[0, 2, 0, 3])
    found = compute_features(target(), texts, LAYERS, tmp_path)
    batch = found.batch(torch.tensor([3, 1]))
    rows = list(texts.rows())
    assert batch.tokens.tolist() == [rows[3].tolist(), [*rows[1].tolist(), 0, 0]]
    assert (batch.lengths.tolist(), batch.starts.tolist()) == ([7, 5], [3, 2])
    alone = _text(found, 1)
    for name in ("features", "last", "log_total"):
        assert torch.equal(getattr(batch, name)[1, :5], getattr(alone, name)[0])
    assert not batch.features[1, 5:].any()


def test_a_full_disk_is_seen_before_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(ValueError, match="GB left: train on fewer tokens"):
        compute_features(target(), random_texts(LENGTHS), LAYERS, tmp_path)
    assert not list(tmp_path.iterdir())
