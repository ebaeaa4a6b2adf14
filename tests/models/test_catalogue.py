"""What models are called."""

from types import SimpleNamespace

import pytest
from transformers import GenerationConfig

from univer.models import BUILT_IN, DEFAULT_MODEL, model_name, recommended_sampling


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


def test_found_23_what_a_model_recommends() -> None:
    def model(**settings: object) -> SimpleNamespace:
        return SimpleNamespace(generation_config=GenerationConfig(**settings))

    recommended = {"temperature": 0.2, "top_p": 0.9}
    assert recommended_sampling(DEFAULT_MODEL, model()) == recommended
    assert recommended_sampling("HuggingFaceTB/SmolLM2-135M-Instruct", model()) == recommended
    assert recommended_sampling("another", model()) == {}
    assert recommended_sampling("another", SimpleNamespace()) == {}
    own = model(do_sample=True, temperature=0.6, top_k=20)
    assert recommended_sampling(DEFAULT_MODEL, own) == {"temperature": 0.6, "top_k": 20}
    assert recommended_sampling("another", model(do_sample=False)) == {"temperature": 0.0}
