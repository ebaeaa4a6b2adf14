"""Self-drafts share the target's weights and leave it alone."""

import copy

import pytest
import torch

from engine.families import FAMILIES, greedy_reference, tiny
from univer.drafting.layers import early_exit, skip_layers
from univer.engine import generate

PROMPT = torch.tensor([[3, 14, 15, 9, 26, 5, 35, 8]])


def pruned(family, kept):
    """The same by hand, on a copy: what a self-draft must compute."""
    model = copy.deepcopy(tiny(family))
    base = getattr(model, model.base_model_prefix)
    base = getattr(base, "decoder", base)
    name = "h" if hasattr(base, "h") else "layers"
    layers = getattr(base, name)
    setattr(base, name, torch.nn.ModuleList([layers[number] for number in kept]))
    if getattr(model.config, "layer_types", None) is not None:
        model.config.layer_types = [model.config.layer_types[number] for number in kept]
    model.config.num_hidden_layers = len(kept)
    return model


@pytest.mark.parametrize(("skipped", "kept"), [([2], [0, 1]), ([1], [0, 2]), ([0, 1], [2])])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_self_draft_computes_what_the_remaining_layers_compute(family, skipped, kept):
    draft = skip_layers(tiny(family), skipped)
    assert draft.name == "skip=" + ",".join(map(str, skipped))
    with torch.no_grad():
        ours = draft.model(PROMPT, use_cache=False).logits
        expected = pruned(family, kept)(PROMPT, use_cache=False).logits
        whole = tiny(family)(PROMPT, use_cache=False).logits
    assert torch.equal(ours, expected)
    assert not torch.allclose(ours, whole)


def test_an_early_exit_is_all_later_layers_skipped():
    with torch.no_grad():
        exit_logits = early_exit(tiny("llama"), 1).model(PROMPT, use_cache=False).logits
        skip_logits = skip_layers(tiny("llama"), [1, 2]).model(PROMPT, use_cache=False).logits
    assert torch.equal(exit_logits, skip_logits)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3"])
def test_fault_38_weights_are_shared_and_the_target_is_untouched(family):
    target = tiny(family)
    configuration = target.config.to_dict()
    modules = [(name, id(module)) for name, module in target.named_modules()]
    draft = skip_layers(target, [1])
    addresses = {value.data_ptr() for value in target.state_dict().values()}
    assert {value.data_ptr() for value in draft.model.state_dict().values()} <= addresses
    assert target.config.to_dict() == configuration
    assert [(name, id(module)) for name, module in target.named_modules()] == modules
    assert len(draft.model.state_dict()) < len(target.state_dict())


@pytest.mark.parametrize("spec", ["first=1", "first=2", "skip=0", "skip=1", "skip=1-2", "skip=0,2"])
def test_specifications_in_words(spec):
    result = generate(tiny("llama"), spec, PROMPT, temperature=0, max_new_tokens=12, eos_token_id=None)
    assert result.sequences[0].tolist() == greedy_reference(tiny("llama"), PROMPT[0].tolist(), 12)
    assert result.stats.draft == {"skip=1-2": "skip=1,2"}.get(spec, spec)


@pytest.mark.parametrize("count", [0, 3, 7])
def test_an_early_exit_needs_some_layers_and_not_all(count):
    with pytest.raises(ValueError, match="uses 1 to 2 of its 3 layers"):
        early_exit(tiny("llama"), count)


@pytest.mark.parametrize("skipped", [[], [3], [-1], [0, 1, 2]])
def test_layers_to_skip_must_exist_and_leave_some(skipped):
    with pytest.raises(ValueError, match="skip some, not all, of the layers 0 to 2"):
        skip_layers(tiny("llama"), skipped)


def test_many_layers_are_not_listed():
    with pytest.raises(ValueError, match=r"not 100 of them from 0 to 99$"):
        skip_layers(tiny("llama"), range(100))


def test_models_whose_forward_is_wrapped_are_refused():
    target = copy.deepcopy(tiny("llama"))
    target.model.forward = target.model.forward
    with pytest.raises(ValueError, match="the target's forward was wrapped"):
        early_exit(target, 1)


def test_models_without_a_list_of_layers_are_refused():
    with pytest.raises(ValueError, match="the layers of a Linear were not found"):
        early_exit(torch.nn.Linear(2, 2), 1)
