"""Hidden states taken while the model reads."""

import pytest
import torch

from engine.families import FAMILIES, tiny
from univer.runtime.features import FeatureTap
from univer.runtime.runner import TreeRunner

TEXT = [5, 9, 3, 17, 4, 8, 11, 2]


def hooks(model):
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def reference(model, tokens, layers):
    states = model(torch.tensor([tokens]), output_hidden_states=True).hidden_states
    return torch.cat([states[layer][0] for layer in layers], -1)


@pytest.mark.parametrize("family", FAMILIES)
def test_features_are_the_hidden_states_of_transformers(family: str) -> None:
    model = tiny(family)
    layers = (0, 2, 1, -1, 3)
    runner = TreeRunner(model, layers)
    with torch.inference_mode():
        runner.extend(TEXT[:5])
        prompt = runner.features
        runner.read_nodes([TEXT[5], 7, TEXT[6]], [-1, -1, 0])
        nodes = runner.features
        expected = reference(model, TEXT, layers)
        other = reference(model, [*TEXT[:5], 7], layers)
    torch.testing.assert_close(prompt, expected[:5], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(nodes, torch.stack([expected[5], other[5], expected[6]]), atol=1e-5, rtol=1e-4)


def test_a_prompt_read_in_pieces_gives_the_features_of_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("qwen2-sliding")
    monkeypatch.setattr("univer.runtime.batch.MASKED_TOKENS", 3)
    runner = TreeRunner(model, (1, -1))
    with torch.inference_mode():
        runner.extend(TEXT)
        torch.testing.assert_close(runner.features, reference(model, TEXT, (1, -1)), atol=1e-5, rtol=1e-4)


def test_nothing_stays_in_the_model_even_when_a_pass_fails() -> None:
    model = tiny("llama")
    before = hooks(model)
    with pytest.raises(IndexError), FeatureTap(model, (1, -1)).open():
        model(torch.tensor([[999]]))
    assert hooks(model) == before


def test_without_layers_nothing_is_taken() -> None:
    runner = TreeRunner(tiny("llama"))
    with torch.inference_mode():
        runner.extend(TEXT)
    assert runner.features is None


@pytest.mark.parametrize("layer", [4, -2])
def test_a_layer_that_does_not_exist_is_refused(layer: int) -> None:
    with pytest.raises(ValueError, match=f"3 layers has no hidden state {layer}"):
        TreeRunner(tiny("llama"), (layer,))
