"""The trainer learns, measures what it says, and resumes as if there had been no interruption."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch

from tiny_models import tiny_llama
from training.pairs import features, make_head, random_texts, target
from univer.drafting.eagle.head import EagleHead
from univer.training.settings import TrainingSettings
from univer.training.texts import Texts
from univer.training.trainer import Trainer, accepted_tokens

QUICK = TrainingSettings(steps=12, batch=2, unroll=2, warmup=2, validate_every=5)


def _trainer(
    folder: Path, settings: TrainingSettings, texts: Texts, valid: Texts | None = None, model: Any = None
) -> Trainer:
    head = make_head(settings, texts)
    sets = [features(head, part, folder / name) for name, part in (("train", texts), ("valid", valid or texts))]
    return Trainer(
        head, model or target(), *sets, settings, checkpoint=folder / "checkpoint.pt", metrics=folder / "metrics.jsonl"
    )


def _run(trainer: Trainer) -> EagleHead:
    trainer.run(lambda done: None, lambda figures: None)
    return trainer.head


def _metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("variant", [1, 3])
def test_a_head_learns_a_few_texts_by_heart(variant: int, tmp_path: Path) -> None:
    settings = TrainingSettings(steps=100, batch=2, unroll=3, warmup=5, learning_rate=6e-2, variant=variant)
    _run(_trainer(tmp_path, settings, random_texts([12, 10])))
    figures = _metrics(tmp_path)
    losses = [line["loss"] for line in figures if "loss" in line]
    assert len(losses) == 100
    assert losses[-1] < 0.05 * losses[0]
    assert min(figures[-1]["acceptance"]) > 0.93
    assert max(figures[0]["acceptance"]) < 0.6


def test_resumed_training_comes_to_the_same_weights(tmp_path: Path) -> None:
    texts = random_texts([9, 8, 11, 7, 10])
    whole = _run(_trainer(tmp_path / "whole", QUICK, texts))

    def interrupt(done: int) -> None:
        if done == 8:
            raise KeyboardInterrupt

    interrupted = _trainer(tmp_path / "parts", QUICK, texts)
    with pytest.raises(KeyboardInterrupt):
        interrupted.run(interrupt, lambda figures: None)
    # Figures of steps that no checkpoint knows of, as after a power cut.
    with (tmp_path / "parts" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 9, "loss": 7}\n{"step": 9, "lo')
    resumed = _trainer(tmp_path / "parts", QUICK, texts)
    assert resumed.step == 8
    _run(resumed)
    for name, value in whole.state_dict().items():
        assert torch.equal(resumed.head.state_dict()[name], value), name
    assert _metrics(tmp_path / "parts") == _metrics(tmp_path / "whole")
    assert [line["step"] for line in _metrics(tmp_path / "whole") if "acceptance" in line] == [0, 5, 10, 12]


def test_found_20_the_best_validated_state_is_kept_over_an_interruption(tmp_path: Path) -> None:
    """Too high a learning rate: what validates best is not the last state."""
    settings = TrainingSettings(steps=40, batch=2, unroll=2, warmup=2, validate_every=4, learning_rate=6e-2)
    texts, valid = random_texts([9, 8, 11, 7]), random_texts([12, 10], seed=1)
    whole = _trainer(tmp_path / "whole", settings, texts, valid)
    _run(whole)
    checks = {line["step"]: line["acceptance"] for line in _metrics(tmp_path / "whole") if "acceptance" in line}
    best = max(checks, key=lambda step: accepted_tokens(checks[step]))
    assert 0 < best < 40
    assert whole.best_step == best
    assert accepted_tokens(checks[best]) > accepted_tokens(checks[40]) + 0.01
    assert whole.validate()["acceptance"] == pytest.approx(checks[best], abs=1e-6)

    for places in ([best + 1], [best - 1, best, 39], [40]):

        def interrupt(done: int, places: list[int] = places) -> None:
            if done in places:
                places.remove(done)
                raise KeyboardInterrupt

        folder = tmp_path / str(places)
        for _ in range(len(places)):
            with pytest.raises(KeyboardInterrupt):
                _trainer(folder, settings, texts, valid).run(interrupt, lambda figures: None)
        resumed = _trainer(folder, settings, texts, valid)
        _run(resumed)
        assert resumed.best_step == best
        assert all(
            torch.equal(value, whole.head.state_dict()[name]) for name, value in resumed.head.state_dict().items()
        )


def test_found_20_checkpoints_without_a_best_state_are_resumed(tmp_path: Path) -> None:
    texts = random_texts([9, 8, 11])
    trainer = _trainer(tmp_path, QUICK, texts)
    trainer.save()
    state = torch.load(tmp_path / "checkpoint.pt")
    del state["best"]
    torch.save(state, tmp_path / "checkpoint.pt")
    resumed = _trainer(tmp_path, QUICK, texts)
    assert resumed.best_step is None
    _run(resumed)
    assert resumed.best_step in (0, 5, 10, 12)


def test_acceptance_is_a_mean_over_places_however_texts_are_batched(tmp_path: Path) -> None:
    texts = random_texts([5, 30, 9])
    one, three = (
        _trainer(tmp_path / str(batch), TrainingSettings(batch=batch, unroll=2), texts).validate() for batch in (1, 3)
    )
    assert one["acceptance"] == pytest.approx(three["acceptance"], abs=1e-6)
    assert one["agreement"] == pytest.approx(three["agreement"], abs=1e-6)


def test_every_text_is_seen_once_before_any_is_seen_again(tmp_path: Path) -> None:
    trainer = _trainer(tmp_path, TrainingSettings(steps=6, batch=2), random_texts([9] * 6))
    order = [rows.tolist() for rows in trainer._batches()]
    assert sorted(chain(*order[:3])) == sorted(chain(*order[3:])) == list(range(6))
    assert order[:3] != order[3:]


def test_in_bfloat16_matrices_are_multiplied_in_it_and_weights_stay_in_float32(tmp_path: Path) -> None:
    model = tiny_llama(seed=0).bfloat16()
    texts = random_texts([9, 8, 11])
    exact = _trainer(tmp_path / "exact", QUICK, texts).validate()["acceptance"]
    trainer = _trainer(tmp_path / "mixed", QUICK, texts, model=model)
    assert trainer.validate()["acceptance"] == pytest.approx(exact, abs=0.02)
    _run(trainer)
    assert {parameter.dtype for parameter in trainer.head.parameters()} == {torch.float32}
    assert not any(module._forward_pre_hooks for module in trainer.head.modules())
    losses = [line["loss"] for line in _metrics(tmp_path / "mixed") if "loss" in line]
    assert losses[-1] < losses[0]


def test_a_loss_that_is_not_finite_ends_the_run_and_leaves_the_checkpoint(tmp_path: Path) -> None:
    texts = random_texts([9, 8, 11])
    trainer = _trainer(tmp_path, QUICK, texts)

    def spoil(done: int) -> None:
        if done == 7:
            trainer.head.fc.weight.data.fill_(float("nan"))

    with pytest.raises(ValueError, match="the loss of step 8 is nan: use a lower learning rate"):
        trainer.run(spoil, lambda figures: None)
    assert _trainer(tmp_path, QUICK, texts).step == 5


def test_without_muon_adamw_trains_alone_and_does_not_take_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = random_texts([9, 8, 11])
    trainer = _trainer(tmp_path / "muon", QUICK, texts)
    assert [type(optimizer).__name__ for optimizer in trainer.optimizers] == ["Muon", "AdamW"]
    trainer.save()
    monkeypatch.delattr(torch.optim, "Muon")
    with pytest.raises(ValueError, match=r"started with the optimiser muon\+adamw"):
        _trainer(tmp_path / "muon", QUICK, texts)
    alone = _trainer(tmp_path / "adamw", QUICK, texts)
    assert [type(optimizer).__name__ for optimizer in alone.optimizers] == ["AdamW"]
    _run(alone)
    losses = [line["loss"] for line in _metrics(tmp_path / "adamw") if "loss" in line]
    assert losses[-1] < losses[0]
