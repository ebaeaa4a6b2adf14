"""Random EAGLE checkpoints in the formats that are found in public, for targets of `engine.families`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.families import CONTEXT, VOCABULARY

WIDTH, HEADS, KV_HEADS, HEAD_DIM, INNER = 16, 4, 2, 4, 24
DRAFT_TOKENS = [0, 2, *range(5, 40), 60]
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
LAYER_SETTINGS = {
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "intermediate_size": INNER,
    "num_hidden_layers": 1,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": CONTEXT,
}


def layer_tensors(prefix: str, entering: int, bias: bool) -> dict[str, Tensor]:
    """A decoder layer whose attention reads `entering` numbers."""
    inner, keys = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    shapes = {
        "self_attn.q_proj": (inner, entering),
        "self_attn.k_proj": (keys, entering),
        "self_attn.v_proj": (keys, entering),
        "self_attn.o_proj": (WIDTH, inner),
        "mlp.gate_proj": (INNER, WIDTH),
        "mlp.up_proj": (INNER, WIDTH),
        "mlp.down_proj": (WIDTH, INNER),
    }
    tensors = {f"{prefix}{name}.weight": 0.4 * torch.randn(shape) for name, shape in shapes.items()}
    tensors[f"{prefix}post_attention_layernorm.weight"] = 1 + 0.2 * torch.randn(WIDTH)
    if bias:
        tensors |= {f"{prefix}self_attn.{name}_proj.bias": torch.randn(HEADS * HEAD_DIM) for name in "q"}
        tensors |= {f"{prefix}self_attn.{name}_proj.bias": torch.randn(KV_HEADS * HEAD_DIM) for name in "kv"}
    return tensors


def eagle1(
    prefix: str = "layers.0.", fc: str = "fc", bias: bool = False, fc_bias: bool = True, embeddings: bool = False
) -> dict[str, Tensor]:
    """Tensors of a head of EAGLE or EAGLE-2."""
    tensors = {f"{fc}.weight": 0.3 * torch.randn(WIDTH, 2 * WIDTH)}
    if fc_bias:
        tensors[f"{fc}.bias"] = torch.randn(WIDTH)
    if embeddings:
        tensors["embed_tokens.weight"] = torch.randn(VOCABULARY, WIDTH)
    return tensors | layer_tensors(prefix, WIDTH, bias)


def eagle3(
    prefix: str = "midlayer.", bias: bool = False, reduced: bool = True, feature_norm: bool = False, wide: int = WIDTH
) -> dict[str, Tensor]:
    """Tensors of a head of EAGLE-3."""
    ids = torch.tensor(DRAFT_TOKENS if reduced else range(VOCABULARY))
    tensors = {
        "fc.weight": 0.3 * torch.randn(WIDTH, 3 * wide),
        "norm.weight": 1 + 0.2 * torch.randn(WIDTH),
        "lm_head.weight": torch.randn(len(ids), WIDTH),
        f"{prefix}input_layernorm.weight": 1 + 0.2 * torch.randn(WIDTH),
        f"{prefix}hidden_norm.weight": 1 + 0.2 * torch.randn(WIDTH),
        "d2t": ids - torch.arange(len(ids)),
        "t2d": torch.zeros(VOCABULARY, dtype=torch.bool).index_fill_(0, ids, True),
    }
    if feature_norm:
        tensors["input_norm.weight"] = 1 + 0.2 * torch.randn(3 * wide)
    return tensors | layer_tensors(prefix, 2 * WIDTH, bias)


def speculators(kind: str, **settings: Any) -> dict[str, Any]:
    """`config.json` of the `speculators` layout."""
    return {
        "architectures": [{"eagle": "EagleSpeculator"}.get(kind, "Eagle3DraftModel")],
        "speculators_model_type": kind,
        "speculators_config": {"algorithm": kind, "verifier": {"name_or_path": "someone/model"}},
        "target_hidden_size": None,
        "transformer_layer_config": {
            **{name: value for name, value in LAYER_SETTINGS.items() if name != "vocab_size"},
            "model_type": "llama",
            "vocab_size": VOCABULARY,
            "head_dim": HEAD_DIM,
            "rope_parameters": {"rope_theta": 5000.0, **LLAMA3},
        },
        **settings,
    }


LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **LAYER_SETTINGS}
EAGLE3 = {**LLAMA, "architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": len(DRAFT_TOKENS)}

# Settings, the maker of the tensors, and how they are stored.
FORMATS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "eagle": ({**LLAMA, "rope_theta": 500.0}, eagle1, "bin"),
    "eagle-embeddings": (LLAMA, lambda: eagle1(embeddings=True), "parts.bin"),
    "eagle-qwen2": ({**LLAMA, "model_type": "qwen2"}, lambda: eagle1(bias=True, fc_bias=False), "safetensors"),
    "eagle-llama3": ({**LLAMA, "rope_theta": 5000.0, "rope_scaling": LLAMA3}, eagle1, "parts.safetensors"),
    "eagle-prefixed": (LLAMA, lambda: {f"model.{name}": tensor for name, tensor in eagle1().items()}, "safetensors"),
    "speculators-eagle": (
        speculators("eagle", layernorms=False, fusion_bias=False),
        lambda: eagle1("transformer.", "fusion_fc", fc_bias=False),
        "safetensors",
    ),
    "eagle3": ({**EAGLE3, "head_dim": HEAD_DIM}, eagle3, "bin"),
    "eagle3-full": ({**EAGLE3, "draft_vocab_size": VOCABULARY}, lambda: eagle3(reduced=False), "safetensors"),
    "eagle3-bias": (
        {**EAGLE3, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 0, 1], "use_aux_hidden_state": True}},
        lambda: eagle3(bias=True),
        "parts.safetensors",
    ),
    "speculators-eagle3": (
        speculators(
            "eagle3",
            draft_vocab_size=len(DRAFT_TOKENS),
            norm_before_residual=True,
            eagle_aux_hidden_state_layer_ids=[0, 1, 3],
        ),
        lambda: eagle3("layers.0."),
        "safetensors",
    ),
    "speculators-eagle3-norms": (
        speculators("eagle3", draft_vocab_size=len(DRAFT_TOKENS), norm_before_fc=True, norm_output=True),
        lambda: eagle3("layers.0.", feature_norm=True),
        "safetensors",
    ),
}


def write(
    directory: Path, settings: Mapping[str, Any], tensors: Mapping[str, Tensor], storage: str = "safetensors"
) -> Path:
    """Store a checkpoint as one file, or as parts with their index."""
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(settings))
    kind = storage.removeprefix("parts.")
    stem = "model" if kind == "safetensors" else "pytorch_model"
    names = list(tensors)
    parts = {f"{stem}.{kind}": names}
    if storage.startswith("parts."):
        half = len(names) // 2
        parts = {f"{stem}-00001-of-00002.{kind}": names[:half], f"{stem}-00002-of-00002.{kind}": names[half:]}
        index = {name: file for file, held in parts.items() for name in held}
        (directory / f"{stem}.{kind}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    for file, held in parts.items():
        content = {name: tensors[name] for name in held}
        if kind == "safetensors":
            save_file(content, directory / file)
        else:
            torch.save(content, directory / file)
    return directory


def write_format(directory: Path, name: str, seed: int = 0) -> tuple[Path, dict[str, Any], dict[str, Tensor]]:
    """A random checkpoint of one of the `FORMATS`: its directory, settings and tensors."""
    settings, make, storage = FORMATS[name]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        tensors = make()
    return write(directory / name, settings, tensors, storage), settings, tensors
