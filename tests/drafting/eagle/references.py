"""What the heads compute, written a second time: with transformers' own layers, and in plain formulas."""

import copy
import math
from typing import Any

import torch
from torch import Tensor
from transformers import LlamaConfig, Qwen2Config
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding
from transformers.models.qwen2.modeling_qwen2 import Qwen2DecoderLayer


def eagle1_outputs(
    settings: dict[str, Any], tensors: dict[str, Tensor], prefix: str, embeddings: Tensor, features: Tensor
) -> Tensor:
    """Outputs `[n, H]` of a head of EAGLE over a text, by the decoder layer of transformers without its input norm."""
    # A copy of all of it, as transformers writes into the tables of rotary positions.
    shape = copy.deepcopy(settings.get("transformer_layer_config", settings))
    qwen2 = shape.pop("model_type", "llama") == "qwen2"
    shape.pop("architectures", None)
    config = (Qwen2Config if qwen2 else LlamaConfig)(**shape, attn_implementation="eager")
    layer = (Qwen2DecoderLayer if qwen2 else LlamaDecoderLayer)(config, 0)
    layer.input_layernorm = torch.nn.Identity()
    layer.load_state_dict({name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)})
    fc = "fusion_fc" if "fusion_fc.weight" in tensors else f"{prefix.removesuffix('layers.0.')}fc"
    joined = torch.cat((embeddings, features), -1) @ tensors[f"{fc}.weight"].T
    joined = joined + tensors.get(f"{fc}.bias", torch.zeros(1))
    count = len(joined)
    positions = torch.arange(count)[None]
    mask = torch.full((count, count), -math.inf).triu(1)[None, None]
    rotary = LlamaRotaryEmbedding(config)(joined[None], positions)
    output = layer(joined[None], attention_mask=mask, position_ids=positions, position_embeddings=rotary)
    return (output[0] if isinstance(output, tuple) else output)[0]


def norm(states: Tensor, weight: Tensor, eps: float) -> Tensor:
    return states / (states.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight


def turned(vector: Tensor, position: int, speeds: list[float]) -> Tensor:
    """One head's query or key at a position: the plane of channels j and j + d/2 is turned by position * speed j."""
    half = len(speeds)
    result = torch.empty_like(vector)
    for j, speed in enumerate(speeds):
        angle = position * speed
        result[j] = vector[j] * math.cos(angle) - vector[j + half] * math.sin(angle)
        result[j + half] = vector[j + half] * math.cos(angle) + vector[j] * math.sin(angle)
    return result


def llama3_speeds(dim: int, theta: float, scaling: dict[str, Any] | None) -> list[float]:
    speeds = [theta ** (-2 * j / dim) for j in range(dim // 2)]
    if scaling is None:
        return speeds
    scaled = []
    for speed in speeds:
        wavelength = 2 * math.pi / speed
        length, low, high = (
            scaling["original_max_position_embeddings"],
            scaling["low_freq_factor"],
            scaling["high_freq_factor"],
        )
        if wavelength < length / high:
            scaled.append(speed)
        elif wavelength > length / low:
            scaled.append(speed / scaling["factor"])
        else:
            smooth = (length / wavelength - low) / (high - low)
            scaled.append((1 - smooth) * speed / scaling["factor"] + smooth * speed)
    return scaled


def eagle3_outputs(
    tensors: dict[str, Tensor],
    prefix: str,
    heads: int,
    speeds: list[float],
    eps: float,
    embeddings: Tensor,
    hidden: Tensor,
    *,
    norm_before_residual: bool = False,
) -> Tensor:
    """Outputs `[n, H]` of an EAGLE-3 layer over a text from fused hidden states, head by head and row by row."""

    def weight(name: str) -> Tensor:
        return tensors[f"{prefix}{name}.weight"]

    def projected(name: str, states: Tensor) -> Tensor:
        return states @ weight(name).T + tensors.get(f"{prefix}{name}.bias", torch.zeros(1))

    normed = norm(hidden, weight("hidden_norm"), eps)
    entering = torch.cat((norm(embeddings, weight("input_layernorm"), eps), normed), -1)
    dim = 2 * len(speeds)
    queries, keys, values = (
        projected(f"self_attn.{part}_proj", entering).unflatten(-1, (-1, dim)) for part in ("q", "k", "v")
    )
    group = heads // keys.shape[1]
    mixed = []
    for row in range(len(hidden)):
        by_head = []
        for head in range(heads):
            query = turned(queries[row, head], row, speeds)
            scores = torch.stack([turned(keys[t, head // group], t, speeds) @ query for t in range(row + 1)])
            shares = (scores / math.sqrt(dim)).softmax(0)
            by_head.append(sum(share * values[t, head // group] for t, share in enumerate(shares)))
        mixed.append(torch.cat(by_head))
    middle = (normed if norm_before_residual else hidden) + projected("self_attn.o_proj", torch.stack(mixed))
    inner = norm(middle, weight("post_attention_layernorm"), eps)
    gate = projected("mlp.gate_proj", inner)
    return middle + projected("mlp.down_proj", gate * gate.sigmoid() * projected("mlp.up_proj", inner))
