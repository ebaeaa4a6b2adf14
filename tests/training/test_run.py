"""A whole run: its stages, its folder, and what it refuses."""

import json
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

from tiny_models import byte_tokenizer, tiny_llama
from training.pairs import target
from univer import generate
from univer.drafting.eagle.checkpoint import load_head
from univer.drafting.eagle.draft import EagleDraft
from univer.training import TrainingInterrupted, TrainingResult, TrainingSettings, train_eagle
from univer.training.run import READING, SAMPLING, TRAINING

SETTINGS = TrainingSettings(
    samples=300, length=12, steps=12, batch=2, unroll=2, warmup=2, validate_every=5, draft_vocabulary=90
)
FILES = ("model.safetensors", "config.json", "README.md", "metrics.jsonl", "training.json")


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prompts") / "two.txt"
    path.write_text("one\nanother\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def finished(prompts: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainingResult]:
    """The folder and the result of a run without interruptions."""
    output = tmp_path_factory.mktemp("run") / "head"
    return output, _train(output, prompts)


def _train(output: Path, prompts: Path | None, **named: Any) -> TrainingResult:
    named = {"settings": SETTINGS, "name": "tiny"} | named
    return train_eagle(target(), byte_tokenizer(), output, prompts=prompts, **named)


def test_interrupted_in_every_stage_it_comes_to_the_same_head(
    finished: tuple[Path, TrainingResult], prompts: Path, tmp_path: Path
) -> None:
    output, before = tmp_path / "head", signal.getsignal(signal.SIGINT)
    for stage, place in ((SAMPLING, 150), (READING, 7), (TRAINING, 4), (TRAINING, 9)):

        def press(name: str, done: int, total: int, stage: str = stage, place: int = place) -> None:
            if name == stage and done >= place:
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(TrainingInterrupted, match="repeat the call to resume") as caught:
            _train(output, prompts, progress=press)
        assert caught.value.stage == stage
        assert signal.getsignal(signal.SIGINT) is before
        assert not (output / "model.safetensors").exists()
    begun: list[tuple[str, int]] = []
    result = _train(output, prompts, progress=lambda stage, done, total: begun.append((stage, done)))
    assert begun[-1] == (TRAINING, 12)
    assert next(done for stage, done in begun if stage == TRAINING) == 9
    expected, whole = finished
    assert result == replace(whole, directory=str(output))
    for name in FILES:
        assert (output / name).read_bytes() == (expected / name).read_bytes(), name


def test_what_is_saved(finished: tuple[Path, TrainingResult]) -> None:
    output, result = finished
    head = load_head(output)
    assert head.fc.weight.dtype == torch.bfloat16
    assert head.config.draft_vocab_size == 90
    assert json.loads((output / "config.json").read_text())["target"]["names"] == ["tiny"]
    assert (output / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert result.train_texts + result.valid_texts == 25
    assert len(result.acceptance) == len(result.agreement) == 2
    card = (output / "README.md").read_text()
    assert "| 2 | " + f"{result.acceptance[1]:.3f}" in card
    assert "--target tiny --output DIR --prompts two.txt --samples 300" in card
    assert str(output) not in card
    steps = {
        line["step"]: line["acceptance"]
        for line in map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
        if "acceptance" in line
    }
    assert result.best_step == max(steps, key=lambda step: steps[step][0] * (1 + steps[step][1]))
    assert f"The saved weights are those after step {result.best_step}," in " ".join(card.split())
    assert sorted(path.name for path in (output / "work").iterdir()) == [".lock", "samples"]


def test_the_head_drafts_for_its_target(finished: tuple[Path, TrainingResult]) -> None:
    prompt = torch.tensor([[5, 9, 3, 17]])
    draft = EagleDraft(load_head(finished[0], dtype=torch.float32), target())
    drafted = generate(target(), draft, prompt, method="block", tree="chain-3", temperature=0, max_new_tokens=8)
    plain = target().generate(prompt, max_new_tokens=8, do_sample=False)[0].tolist()
    assert drafted.sequences[0].tolist() == plain


def test_a_finished_run_is_not_done_again(finished: tuple[Path, TrainingResult], prompts: Path) -> None:
    output, result = finished
    times = {path: path.stat().st_mtime_ns for path in output.rglob("*")}
    assert _train(output, prompts, progress=lambda *_: pytest.fail("worked")) == result
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*")} == times


def test_other_settings_are_refused_by_name(
    finished: tuple[Path, TrainingResult], prompts: Path, tmp_path: Path
) -> None:
    output, _ = finished
    text = tmp_path / "text.txt"
    text.write_text("some text " * 40, encoding="utf-8")
    other = replace(SETTINGS, steps=13, seed=4)
    with pytest.raises(ValueError, match=r"other settings: steps = 12 \(now 13\), seed = 0 \(now 4\)\. Repeat"):
        _train(output, prompts, settings=other)
    with pytest.raises(ValueError, match=r"text = None \(now 'text.txt \(.*prompts = 'two.txt \(.*\(now None\)"):
        _train(output, None, texts=[text])
    with pytest.raises(ValueError, match=r"weights .* \(now "):
        train_eagle(tiny_llama(seed=1), byte_tokenizer(), output, prompts=prompts, settings=SETTINGS, name="tiny")


def test_texts_of_one_s_own(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    texts = [f"line {number} of a text that goes on" for number in range(30)]
    lines.write_text("\n".join(json.dumps({"text": text}) for text in [*texts, texts[0]]), encoding="utf-8")
    settings = replace(SETTINGS, length=64, variant=1, draft_vocabulary=None, steps=3)
    result = _train(tmp_path / "head", None, texts=[lines], settings=settings)
    assert (result.train_texts, result.valid_texts, result.coverage) == (28, 2, 1.0)
    head = load_head(tmp_path / "head")
    assert (head.config.variant, head.config.draft_vocab_size) == (1, 260)
    card = (tmp_path / "head" / "README.md").read_text()
    assert "Texts: lines.jsonl (" in card
    assert "--text lines.jsonl" in card
    assert "temperature: " not in card


def test_found_21_a_reduced_vocabulary_holds_the_end_and_the_special_tokens_of_the_texts(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    texts = [f"{word} qzqz qzqz <|endoftext|>" for word in ("wood", "stone", "water", "sand", "iron", "gold")]
    lines.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    _train(tmp_path / "head", None, texts=[lines], settings=replace(SETTINGS, length=64, draft_vocabulary=8, steps=1))
    ids = load_head(tmp_path / "head").token_ids
    assert ids is not None
    # End of text, which no text holds, and the special token; <|im_start|> is in none and no end.
    assert {0, 2} <= set(ids.tolist())
    assert 1 not in ids


def test_too_little_text_is_refused_before_there_is_a_folder(tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("abcabcabcabc" * 2, encoding="utf-8")
    with pytest.raises(ValueError, match="1 different texts of 12 tokens in all are too few"):
        _train(tmp_path / "head", None, texts=[short])
    with pytest.raises(ValueError, match="2 texts are too few: a step takes 2"):
        _train(tmp_path / "head", None, settings=replace(SETTINGS, samples=24))
    with pytest.raises(ValueError, match="not both"):
        _train(tmp_path / "head", short, texts=[short])
    assert not (tmp_path / "head").exists()


def test_from_a_head_with_its_vocabulary(finished: tuple[Path, TrainingResult], prompts: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, draft_vocabulary=None, steps=4)
    result = _train(tmp_path / "more", prompts, init=finished[0], settings=settings)
    ids, known = load_head(tmp_path / "more").token_ids, load_head(finished[0]).token_ids
    assert ids is not None
    assert known is not None
    assert torch.equal(ids, known)
    assert result.coverage == pytest.approx(finished[1].coverage)
    first = json.loads((tmp_path / "more" / "metrics.jsonl").read_text().splitlines()[0])
    assert first["acceptance"] == pytest.approx(finished[1].acceptance, abs=0.01)
    assert "--init head" in (tmp_path / "more" / "README.md").read_text()


def test_folders_of_others_are_left_alone(finished: tuple[Path, TrainingResult], prompts: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ValueError, match="is not empty and holds no training run"):
        _train(tmp_path / "mine", prompts)
    with pytest.raises(ValueError, match="is a file: name a folder"):
        _train(tmp_path / "mine" / "thesis.tex", prompts)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "training.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        _train(damaged, prompts)


def test_two_runs_do_not_share_a_folder(prompts: Path, tmp_path: Path) -> None:
    (tmp_path / "head" / "work").mkdir(parents=True)
    with (
        FileLock(tmp_path / "head" / "work" / ".lock"),
        pytest.raises(ValueError, match="another process is writing to"),
    ):
        _train(tmp_path / "head", prompts)


def test_without_matplotlib_and_muon_it_says_so_and_goes_on(
    prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delattr(torch.optim, "Muon")
    notes: list[str] = []
    result = _train(tmp_path / "head", prompts, settings=replace(SETTINGS, steps=2), note=notes.append)
    assert result.optimizer == "adamw"
    assert "has no Muon" in notes[0]
    assert notes[-1] == "no curve is drawn, as matplotlib is missing: pip install 'univer[all]'"
    assert not (tmp_path / "head" / "loss.png").exists()
    assert (tmp_path / "head" / "model.safetensors").exists()
