"""Models that are refused by name, before the first token."""

import copy
from types import SimpleNamespace

import pytest
import torch
from transformers import (
    BambaConfig,
    BambaForCausalLM,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    RwkvConfig,
    RwkvForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from engine.families import DECODER, VOCABULARY, near_copy, tiny
from tiny_models import byte_tokenizer
from univer.drafting.independent import IndependentDraft
from univer.drafting.proposals import complete
from univer.drafting.request import DraftRequest
from univer.engine import generate, generate_rounds
from univer.runtime.checks import check_model, check_tokenizers, context_limit

PROMPT = torch.tensor([[3, 14, 15]])


def hybrid():
    return BambaForCausalLM(
        BambaConfig(
            **DECODER | {"num_hidden_layers": 2, "num_key_value_heads": 4},
            attn_layer_indices=[1],
            mamba_n_heads=4,
            mamba_d_head=8,
            mamba_d_state=8,
            mamba_expand=2,
        )
    )


def mamba():
    return MambaForCausalLM(MambaConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, state_size=4))


def rwkv():
    return RwkvForCausalLM(RwkvConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2))


def encoder_decoder():
    return T5ForConditionalGeneration(
        T5Config(vocab_size=VOCABULARY, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2)
    )


def vision():
    text = DECODER | {"head_dim": 4, "num_hidden_layers": 1}
    return Gemma3ForConditionalGeneration(
        Gemma3Config(
            text_config=text,
            vision_config={
                "hidden_size": 16,
                "intermediate_size": 16,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "image_size": 16,
                "patch_size": 8,
            },
            mm_tokens_per_image=4,
        )
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (hybrid, "BambaForCausalLM keeps a recurrent state"),
        (mamba, "MambaForCausalLM keeps a recurrent state"),
        (rwkv, "RwkvForCausalLM keeps a recurrent state"),
        (encoder_decoder, "T5ForConditionalGeneration is an encoder-decoder model"),
        (vision, "Gemma3ForConditionalGeneration is a multimodal model"),
    ],
)
def test_fault_15_states_that_cannot_be_rolled_back_are_refused(model, message):
    with pytest.raises(ValueError, match=f"the target {message}"):
        generate(model(), None, PROMPT, max_new_tokens=2)
    with pytest.raises(ValueError, match=f"the draft {message}"):
        generate(tiny("llama"), model(), PROMPT, max_new_tokens=2)


def test_models_without_a_cache_or_a_configuration_are_refused():
    class Headless:
        config = SimpleNamespace(vocab_size=5)

        def forward(self, input_ids):
            return input_ids

    with pytest.raises(ValueError, match="takes no key/value cache"):
        check_model(Headless(), "target")
    with pytest.raises(ValueError, match="has no configuration"):
        check_model(torch.nn.Linear(2, 2), "draft")


def test_a_draft_is_not_asked_for_a_tree_beyond_the_length_that_it_was_made_for():
    config = LlamaConfig(**DECODER | {"max_position_embeddings": 16})
    draft = LlamaForCausalLM(config).eval()
    assert context_limit(draft) == 16
    growth = SimpleNamespace(depth=4)
    request = DraftRequest(VOCABULARY, torch.device("cpu"), torch.softmax, torch.Generator(), True, 40)
    with pytest.raises(ValueError, match="reads at most 16 tokens, the tree asks for 4 levels below 14"):
        complete(IndependentDraft(draft).start(request).propose([5] * 14, growth))


def with_back_end(family, name):
    model = copy.deepcopy(tiny(family))
    model.config._attn_implementation_internal = name
    return model


@pytest.mark.parametrize("back_end", ["flash_attention_2", "flash_attention_3", "flex_attention"])
def test_fault_21_back_ends_without_masks_refuse_branching_trees(back_end):
    with pytest.raises(ValueError, match=f"target's attention back end '{back_end}' only knows causal masks"):
        generate(with_back_end("llama", back_end), "lookup", PROMPT, tree="2x2", max_new_tokens=3)
    with pytest.raises(ValueError, match=f"attention back end '{back_end}' of the draft"):
        generate(tiny("llama"), with_back_end("llama", back_end), PROMPT, tree="2x2", max_new_tokens=3)


def test_fault_24_tokenizers_that_differ_are_refused():
    ours, other = byte_tokenizer(), byte_tokenizer()
    check_tokenizers(ours, other)
    shifted = SimpleNamespace(get_vocab=lambda: {token: index + 1 for token, index in ours.get_vocab().items()})
    with pytest.raises(ValueError, match=r"the tokenizers of target and draft differ in \d+ ids; id 1 is"):
        check_tokenizers(ours, shifted)
    with pytest.raises(ValueError, match="tokenizers of target and draft differ"):
        generate(tiny("llama"), near_copy("llama"), PROMPT, tokenizer=ours, draft_tokenizer=shifted, max_new_tokens=2)


def test_fault_24_tokenizers_with_more_special_tokens_agree():
    ours, more = byte_tokenizer(), byte_tokenizer()
    more.add_tokens(["<|extra|>"])
    check_tokenizers(ours, more)


def test_a_draft_is_a_model_a_draft_or_a_text():
    with pytest.raises(TypeError, match="not a float"):
        generate(tiny("llama"), 0.5, PROMPT, max_new_tokens=2)
    unfinished = SimpleNamespace(name="own", fixed_only=True, start=None)
    with pytest.raises(TypeError, match=r"derives from univer\.drafting\.base\.Draft or .*, not a SimpleNamespace"):
        generate(tiny("llama"), unfinished, PROMPT, max_new_tokens=2)
    with pytest.raises(ValueError, match="unknown draft 'prompt'"):
        generate(tiny("llama"), "prompt", PROMPT, max_new_tokens=2)
    draft = IndependentDraft(near_copy("llama"), name="small")
    assert generate(tiny("llama"), draft, PROMPT, max_new_tokens=2).stats.draft == "small"


@pytest.mark.parametrize("method", ["rrs", "traversal", "spectr", "block"])
def test_methods_that_sample_refuse_a_draft_of_fixed_tokens(method):
    needs = f"the method '{method}' needs a tree drawn by the law .* proposes fixed tokens only: choose another"
    with pytest.raises(ValueError, match=needs):
        generate(tiny("llama"), "lookup", PROMPT, method=method, tree="chain-2", max_new_tokens=2)


def test_orders_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="unknown sibling order 'best'"):
        generate(tiny("llama"), "lookup", PROMPT, order="best", temperature=0, max_new_tokens=2)
    with pytest.raises(ValueError, match="at most 10 children, a node has 11"):
        generate(tiny("llama"), near_copy("llama"), PROMPT, order="gain", tree="11x1", max_new_tokens=2)


def test_a_vocabulary_too_large_for_a_programme_is_refused():
    with pytest.raises(ValueError, match="at most 20000"):
        generate_rounds(tiny("llama"), near_copy("llama"), PROMPT, method="optimal", tree="4x2")


def test_unknown_methods_and_trees_are_refused():
    with pytest.raises(ValueError, match="unknown method 'best'"):
        generate(tiny("llama"), "lookup", PROMPT, method="best", max_new_tokens=2)
    with pytest.raises(ValueError, match="unknown tree 'bush'"):
        generate(tiny("llama"), "lookup", PROMPT, tree="bush", max_new_tokens=2)
    with pytest.raises(ValueError, match="a chain has one child per node"):
        generate(tiny("llama"), near_copy("llama"), PROMPT, method="block", tree="2x2", max_new_tokens=2)
