"""What heads share with their target is the target's real weights, scaled and capped as the target does it."""

import copy
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import cpu_offload
from accelerate.hooks import ModelHook, add_hook_to_module
from transformers import CohereConfig, CohereForCausalLM, GraniteConfig, GraniteForCausalLM

from drafting.eagle.checkpoints import EAGLE3, LLAMA, WIDTH, eagle1, eagle3, write
from drafting.eagle.pairs import features_of, random_draft
from engine.families import DECODER, VOCABULARY, greedy_reference, tiny
from univer.drafting.eagle.checkpoint import load_head, save_head
from univer.drafting.eagle.config import LAST
from univer.drafting.eagle.draft import EagleDraft, eagle_draft
from univer.drafting.eagle.target import OutputScaling, output_scaling, token_embeddings
from univer.engine import generate

PROMPT = [5, 9, 3, 17, 4, 8, 11]
FULL = EAGLE3 | {"draft_vocab_size": VOCABULARY}


def scaled(family: str) -> Any:
    """A tiny target whose logits are scaled or capped."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if family == "cohere":
            return CohereForCausalLM(CohereConfig(**DECODER, logit_scale=0.0625)).eval()
        if family == "granite":
            return GraniteForCausalLM(GraniteConfig(**DECODER, logits_scaling=8.0)).eval()
    return tiny(family)


def quantised(target: Any, layers: Any) -> Any:
    """A copy with dynamically quantised layers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates it
        return torch.ao.quantization.quantize_dynamic(copy.deepcopy(target), layers, dtype=torch.qint8)


def test_found_03_a_dynamically_quantised_output_layer_is_refused_by_its_class() -> None:
    target = quantised(tiny("llama"), {"lm_head"})
    with pytest.raises(
        ValueError, match=r"the output layer of the LlamaForCausalLM is a torch\..*dynamic.*Linear, not"
    ):
        EagleDraft(random_draft("llama", 1, False).head, target)


@pytest.mark.parametrize("variant", [1, 3])
@pytest.mark.parametrize("family", ["llama", "llama-tied"])
def test_found_13_offloaded_weights_are_read_where_they_are(variant: int, family: str) -> None:
    plain, head = tiny(family), random_draft(family, variant, True).head
    target = cpu_offload(copy.deepcopy(plain), execution_device=torch.device("cpu"))
    assert target.get_input_embeddings().weight.device.type == "meta"
    draft, expected = EagleDraft(head, target), EagleDraft(head, plain)
    assert torch.equal(draft.table, expected.table)
    if variant == 1:
        assert torch.equal(draft.output, expected.output)
    settings: dict[str, Any] = {"tree": "2x2", "temperature": 0, "max_new_tokens": 8, "eos_token_id": None}
    found = generate(target, draft, torch.tensor([PROMPT]), **settings).sequences[0].tolist()
    assert found == greedy_reference(plain, PROMPT, 8)
    add_hook_to_module(target.get_input_embeddings(), ModelHook(), append=True)
    assert torch.equal(token_embeddings(target), plain.get_input_embeddings().weight)


def test_found_13_a_target_without_values_is_refused_before_work() -> None:
    target = copy.deepcopy(tiny("llama"))
    target.model.embed_tokens.to("meta")
    with pytest.raises(ValueError, match="the token embeddings of the LlamaForCausalLM has no values"):
        EagleDraft(random_draft("llama", 3, True).head, target)
    target = copy.deepcopy(tiny("llama"))
    target.lm_head.to("meta")
    with pytest.raises(ValueError, match="the output layer of the LlamaForCausalLM has no values"):
        EagleDraft(random_draft("llama", 1, False).head, target)
    EagleDraft(random_draft("llama", 3, True).head, target)


@pytest.mark.parametrize(
    ("family", "expected"),
    [("llama", (1, None)), ("cohere", (0.0625, None)), ("granite", (0.125, None)), ("gemma2", (1, 3.0))],
)
@torch.no_grad()
def test_found_18_logits_of_a_shared_output_layer_are_the_target_s(
    family: str, expected: tuple[float, float | None]
) -> None:
    """A head at a perfect state, the target's own, drafts from the target's distribution."""
    target = scaled(family)
    scaling = output_scaling(target)
    assert (scaling.scale, scaling.cap) == (pytest.approx(expected[0], rel=1e-5), expected[1])
    for dtype in (torch.bfloat16, torch.float16):
        rounded = output_scaling(copy.deepcopy(target).to(dtype))
        assert (rounded.scale, rounded.cap) == (pytest.approx(expected[0], rel=1e-2), expected[1])
    logits = target(torch.tensor([PROMPT])).logits[0]
    states = features_of(target, PROMPT, (LAST,))
    draft = EagleDraft(random_draft("llama", 1, False).head, target)
    torch.testing.assert_close(draft.logits(states), logits, atol=1e-4, rtol=1e-4)
    raw = states @ target.get_output_embeddings().weight.T
    overlap = torch.minimum(raw.softmax(-1), logits.softmax(-1)).sum(-1).mean()
    assert (overlap > 0.999) == (family == "llama")
    reduced = EagleDraft(random_draft("llama", 1, True).head, target)
    torch.testing.assert_close(reduced.logits(states), logits[:, reduced.head.token_ids], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["cohere", "granite", "gemma2"])
def test_found_18_greedy_text_stays_that_of_a_scaled_target(family: str) -> None:
    target = scaled(family)
    draft = EagleDraft(random_draft("llama", 1, False).head, target)
    settings = {"tree": "2x2", "temperature": 0, "max_new_tokens": 12, "eos_token_id": None}
    found = generate(target, draft, torch.tensor([PROMPT]), **settings).sequences[0].tolist()
    assert found == greedy_reference(target, PROMPT, 12)


def test_found_18_other_ways_to_logits_are_refused() -> None:
    class Shifted(torch.nn.Linear):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return super().forward(states) + torch.arange(VOCABULARY)

    target = copy.deepcopy(tiny("llama"))
    target.lm_head.__class__ = Shifted
    with pytest.raises(ValueError, match="not even with a scale or a cap"):
        EagleDraft(random_draft("llama", 1, False).head, target)
    EagleDraft(random_draft("llama", 3, False).head, target)


def test_a_cap_leaves_the_order_and_bounds_the_logits() -> None:
    scores = torch.linspace(-9, 9, 7)
    torch.testing.assert_close(OutputScaling(0.5, 2.0)(scores), 2 * torch.tanh(0.5 * scores / 2))
    assert OutputScaling()(scores) is scores


def test_found_19_an_equal_copy_of_the_output_layer_is_dropped(tmp_path: Path) -> None:
    target, tensors = tiny("llama"), eagle1()
    output = target.lm_head.weight.detach()
    without = eagle_draft(target, write(tmp_path / "without", LLAMA, tensors))
    for copied in (output, output.to(torch.float16)):
        draft = eagle_draft(target, write(tmp_path / "copied", LLAMA, tensors | {"lm_head.weight": copied}))
        assert draft.head.state_dict().keys() == without.head.state_dict().keys()
        assert draft.output is not None
        assert torch.equal(draft.output, output)
    other = write(tmp_path / "other", LLAMA, tensors | {"lm_head.weight": output + 1})
    with pytest.raises(ValueError, match=r"the tensor 'lm_head.weight', but a head of EAGLE or EAGLE-2 has no output"):
        eagle_draft(target, other)
    with pytest.raises(ValueError, match="only a copy of the target's is dropped"):
        load_head(tmp_path / "copied")


@pytest.mark.parametrize("flags", [{}, {"has_lm_head": False}])
@torch.no_grad()
def test_found_19_a_missing_output_layer_of_eagle3_is_the_target_s(flags: dict[str, bool], tmp_path: Path) -> None:
    target, tensors = tiny("llama"), eagle3(reduced=False)
    del tensors["lm_head.weight"], tensors["d2t"], tensors["t2d"]
    draft = eagle_draft(target, write(tmp_path / "head", FULL | flags, tensors))
    output = target.lm_head.weight
    whole = write(tmp_path / "whole", FULL, tensors | {"lm_head.weight": output.detach()})
    expected = eagle_draft(target, whole)
    hidden = torch.randn(5, WIDTH)
    torch.testing.assert_close(draft.logits(hidden), expected.logits(hidden))
    settings: dict[str, Any] = {"tree": "2x2", "max_new_tokens": 12, "seed": 3, "eos_token_id": None}
    texts = [generate(target, own, torch.tensor([PROMPT]), **settings).sequences for own in (draft, expected)]
    assert torch.equal(*texts)
    save_head(draft.head, tmp_path / "saved")
    assert load_head(tmp_path / "saved").config == draft.head.config
    with pytest.raises(ValueError, match="has_lm_head=True, but the checkpoint lacks the tensor"):
        eagle_draft(target, write(tmp_path / "told", FULL | {"has_lm_head": True}, tensors))
    with pytest.raises(ValueError, match=r"an output layer of shape \[61, 16\], the LlamaForCausalLM has \[61, 17\]"):
        EagleDraft(draft.head, wider(target))


def wider(target: Any) -> Any:
    """A target with another output layer."""
    changed = copy.deepcopy(target)
    changed.lm_head = torch.nn.Linear(WIDTH + 1, VOCABULARY, bias=False)
    return changed
