"""What models are called."""

from types import SimpleNamespace

import pytest

from univer.models import BUILT_IN, model_name


@pytest.mark.parametrize(
    ("name_or_path", "called"),
    [
        ("owner/model-1b", "model-1b"),
        ("models/mine/", "mine"),
        ("", "SimpleNamespace"),
        *((f"cache/{own.name}-{own.sha256[:8]}-1", own.name) for own in BUILT_IN.values()),
    ],
)
def test_the_name_of_a_model(name_or_path, called):
    assert model_name(SimpleNamespace(name_or_path=name_or_path)) == called
