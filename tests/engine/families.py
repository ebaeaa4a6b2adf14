"""Tiny random models of several architectures in float32, and drafts that agree with them now and then."""

import copy
from functools import cache
from typing import Any

import torch
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GemmaConfig,
    GemmaForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PhiConfig,
    PhiForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

VOCABULARY = 61
CONTEXT = 96
WINDOW = 5

COMMON = {
    "vocab_size": VOCABULARY,
    "max_position_embeddings": CONTEXT,
    "initializer_range": 0.4,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
}
DECODER = COMMON | {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
GPT2 = COMMON | {"n_positions": CONTEXT, "n_embd": 16, "n_layer": 3, "n_head": 4}
GPT2.pop("max_position_embeddings")
NEOX = DECODER | {}
NEOX.pop("num_key_value_heads")
OPT = NEOX | {"ffn_dim": 24, "init_std": 0.4}
SLIDING = {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1}
# Low enough for the caps to bend the scores of such small models.
CAPPED = {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}

MIXED = ["sliding_attention", "full_attention", "sliding_attention"]

FAMILIES: dict[str, tuple[Any, Any]] = {
    "llama": (LlamaForCausalLM, LlamaConfig(**DECODER)),
    "llama-tied": (LlamaForCausalLM, LlamaConfig(**DECODER | {"tie_word_embeddings": True, "num_key_value_heads": 1})),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**DECODER)),
    "qwen2-sliding": (Qwen2ForCausalLM, Qwen2Config(**DECODER, **SLIDING)),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**DECODER, head_dim=4)),
    "gpt2": (GPT2LMHeadModel, GPT2Config(**GPT2)),
    "gpt-neox": (GPTNeoXForCausalLM, GPTNeoXConfig(**NEOX)),
    "opt": (OPTForCausalLM, OPTConfig(**OPT)),
    "phi": (PhiForCausalLM, PhiConfig(**DECODER, partial_rotary_factor=0.5)),
    "phi3": (Phi3ForCausalLM, Phi3Config(**DECODER, original_max_position_embeddings=CONTEXT)),
    "mistral": (MistralForCausalLM, MistralConfig(**DECODER, sliding_window=WINDOW)),
    "gemma": (GemmaForCausalLM, GemmaConfig(**DECODER, head_dim=4)),
    "gemma2": (Gemma2ForCausalLM, Gemma2Config(**DECODER, **CAPPED, head_dim=4, sliding_window=WINDOW)),
    "gemma3": (Gemma3ForCausalLM, Gemma3TextConfig(**DECODER, head_dim=4, sliding_window=WINDOW, layer_types=MIXED)),
}


@cache
def tiny(family: str, attention: str | None = None) -> Any:
    """The one model of a family; tests share it, so none may change it."""
    model_class, config = FAMILIES[family]
    config = copy.deepcopy(config)
    if attention is not None:
        config._attn_implementation = attention
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return model_class(config).eval()


@cache
def near_copy(family: str, noise: float = 0.1) -> Any:
    """The model of a family with a little noise on its weights: a draft that is right now and then."""
    return noisy(tiny(family), noise)


def noisy(model: Any, noise: float) -> Any:
    """A copy of a model with noise on its weights."""
    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += noise * parameter.std(unbiased=False) * torch.randn(parameter.shape, generator=generator)
    return model


def greedy_reference(
    model: Any, prompt: list[int], new_tokens: int, eos: int | list[int] | None = None, **settings: Any
) -> list[int]:
    """What transformers' own greedy decoding makes of a prompt."""
    ids = torch.tensor([prompt])
    text = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=new_tokens,
        eos_token_id=eos,
        pad_token_id=0,
        **settings,
    )
    return text[0].tolist()


def path_to(node: int, parents: list[int], tokens: list[int]) -> list[int]:
    """Tokens from a node's first ancestor down to it."""
    path = []
    while node >= 0:
        path.append(tokens[node])
        node = parents[node]
    return path[::-1]
