"""A request leaves nothing behind in the models."""

import copy

import pytest
import torch

from engine.fakes import ScriptedDraft
from engine.families import near_copy, tiny
from univer.engine import Engine, generate, generate_rounds

PROMPT = torch.tensor([[3, 14, 15, 9, 26, 5]])


def snapshot(model):
    return {
        "config": model.config.to_dict(),
        "generation": model.generation_config.to_dict(),
        "attributes": {
            name: sorted(key for key in vars(module) if key not in ("_modules", "_parameters", "_buffers"))
            for name, module in model.named_modules()
        },
        "training": [module.training for module in model.modules()],
        "weights": {name: (value.data_ptr(), value._version) for name, value in model.state_dict().items()},
        "forwards": [module.forward.__func__ for module in model.modules()],
    }


@pytest.mark.parametrize("draft", ["independent", "lookup", "first=1", "skip=1"])
@pytest.mark.parametrize("temperature", [0, 1])
def test_fault_38_no_attribute_of_a_model_or_its_configuration_changes(draft, temperature):
    target, small = copy.deepcopy(tiny("gemma3")), copy.deepcopy(near_copy("gemma3"))
    drafts = {"independent": small}
    before = snapshot(target), snapshot(small)
    options = {"temperature": temperature, "seed": 1, "max_new_tokens": 12, "tree": "2x3"}
    first = generate(target, drafts.get(draft, draft), PROMPT, **options)
    assert (snapshot(target), snapshot(small)) == before
    second = generate(target, drafts.get(draft, draft), PROMPT, **options)
    assert torch.equal(first.sequences, second.sequences)
    assert first.stats.rounds == second.stats.rounds


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_fault_38_an_interruption_leaves_the_models_as_they_were(error):
    class Interrupting:
        def __init__(self):
            self.puts = 0

        def put(self, value):
            self.puts += 1
            if self.puts == 4:
                raise error("stop")

        def end(self):
            raise AssertionError("the text did not end")

    target, small = copy.deepcopy(tiny("llama")), copy.deepcopy(near_copy("llama"))
    before = snapshot(target), snapshot(small)
    options = {"temperature": 0, "max_new_tokens": 12, "eos_token_id": None}
    with pytest.raises(error, match="stop"):
        generate(target, small, PROMPT, streamer=Interrupting(), **options)
    assert (snapshot(target), snapshot(small)) == before
    expected = generate(tiny("llama"), near_copy("llama"), PROMPT, **options)
    assert torch.equal(generate(target, small, PROMPT, **options).sequences, expected.sequences)


def test_training_mode_is_restored_also_after_an_error():
    target = copy.deepcopy(tiny("gpt2"))
    target.train()
    target.transformer.h[1].eval()
    before = [module.training for module in target.modules()]
    options = {"temperature": 0, "max_new_tokens": 12, "eos_token_id": None}
    result = generate(target, "first=2", PROMPT, **options)
    assert [module.training for module in target.modules()] == before
    assert torch.equal(result.sequences, generate(tiny("gpt2"), None, PROMPT, **options).sequences)

    target.transformer.ln_f.weight.data[0] = float("nan")
    with pytest.raises(ValueError, match="the target's prefill"):
        generate(target, "lookup", PROMPT, **options)
    assert [module.training for module in target.modules()] == before


@pytest.mark.parametrize("temperature", [0, 1])
def test_logits_that_turn_into_nan_name_the_round(temperature):
    target = copy.deepcopy(tiny("llama"))
    generation = generate_rounds(
        target, near_copy("llama"), PROMPT, temperature=temperature, seed=0, max_new_tokens=30, eos_token_id=None
    )
    next(generation), next(generation)
    with torch.no_grad():
        target.model.norm.weight[0] = float("nan")
    with pytest.raises(ValueError, match="the target's round 2: row 0 of the logits"):
        next(generation)
    assert list(generation) == [], "a text that broke off cannot be continued"


class ForLongTexts(ScriptedDraft):
    """Proposes one tree to texts that may have more than 50 tokens, nothing to others."""

    def start(self, request):
        return ForLongTexts(self.script if request.max_length > 50 else [])


@pytest.mark.parametrize("temperature", [0, 1])
@pytest.mark.parametrize(("broken", "node"), [(11, 2), (12, 4), (13, 6)])
def test_found_10_nan_of_a_drafted_token_names_its_node_and_spoils_no_other_row(temperature, broken, node):
    target = copy.deepcopy(tiny("llama"))
    embeddings = target.get_input_embeddings()
    with torch.no_grad():
        embeddings.weight[broken] = float("nan")
    tree = [(0, 10), (0, 11), (1, 14), (1, 12), (4, 15), (4, 13)]
    engine = Engine(target, ForLongTexts([tree]))
    options = {"temperature": temperature, "seed": 0, "eos_token_id": None}
    long = engine.add(list(range(20, 40)), max_new_tokens=24, **options)
    bad = engine.add([3, 4], max_new_tokens=50, **options)
    engine.step(), engine.step()
    path = {2: [11], 4: [10, 12], 6: [10, 12, 13]}[node]
    assert "the target's round 1" in str(bad.error)
    assert f"hold NaN from node {node}, the tokens {path} below the text" in str(bad.error)
    # What comes next takes the place of the broken row in the cache.
    with torch.no_grad():
        embeddings.weight[broken] = 0.0
    after = engine.add([5, 6], max_new_tokens=8, **options)
    while engine.busy:
        engine.step()
    assert (long.error, after.error) == (None, None)
    assert after.committed == generate(target, None, [[5, 6]], max_new_tokens=8, **options).texts[0] or temperature
    assert len(after.committed) == 10


def test_gradients_are_neither_made_nor_switched_off_for_the_caller():
    generation = generate_rounds(tiny("llama"), near_copy("llama"), PROMPT, max_new_tokens=8)
    next(generation)
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    assert all(parameter.grad is None for parameter in tiny("llama").parameters())


class Adding:
    """A streamer that adds a text in the middle of a step."""

    def __init__(self, engine):
        self.engine, self.puts, self.training = engine, 0, []

    def put(self, value):
        self.puts += 1
        if self.puts == 3:
            self.engine.add([5, 7], tree="2x2", max_new_tokens=3, temperature=0)
        self.training.append(any(module.training for module in self.engine.target.modules()))

    def end(self):
        pass


def test_a_text_that_is_added_within_a_step_leaves_the_target_in_evaluation_mode():
    # Of an architecture that is asked whether it honours trees.
    target = copy.deepcopy(tiny("llama"))
    target.config.model_type = "another"
    target.train()
    engine = Engine(target, "lookup")
    streamer = Adding(engine)
    engine.add(PROMPT, streamer=streamer, max_new_tokens=6, eos_token_id=None, temperature=0)
    while engine.busy:
        engine.step()
    assert streamer.training == [False] * 7
    assert all(module.training for module in target.modules())


@pytest.mark.parametrize("training", [False, True])
def test_the_mode_of_a_model_is_that_of_each_step(training):
    target = copy.deepcopy(tiny("gpt2")).train(not training)
    options = {"temperature": 0, "max_new_tokens": 12, "eos_token_id": None}
    engine = Engine(target, "lookup")
    row = engine.add(PROMPT, **options)
    engine.step()
    target.train(training)
    while engine.busy:
        engine.step()
        assert {module.training for module in target.modules()} == {training}
    assert row.committed == generate(tiny("gpt2"), None, PROMPT, **options).texts[0]
