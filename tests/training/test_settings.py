"""Settings that make no sense are refused by name."""

from typing import Any

import pytest

from univer.training import TrainingSettings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"batch": 2.5}, "batch must be at least 1, not 2.5"),
        ({"draft_vocabulary": 0}, "draft_vocabulary must be at least 1"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0"),
        ({"weight_decay": 1.0}, "weight_decay must be in"),
        ({"variant": 2}, "variant must be 1"),
        ({"variant": 1, "layers": (0, 1)}, "variant 1 reads the last hidden state"),
        ({"layers": ()}, "layers must name"),
        ({"length": 4, "unroll": 4}, "length must be above unroll"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingSettings(**changes)


def test_only_changed_settings_are_options() -> None:
    assert TrainingSettings().options() == {}
    assert TrainingSettings(steps=7, layers=(1, 2)).options() == {"steps": 7, "layers": (1, 2)}
