"""GGUF file -> directory that transformers loads at once (safetensors, tokenizer, generation settings)."""

import contextlib
import io
from pathlib import Path

import torch

__all__ = ["convert_gguf"]


def convert_gguf(gguf: Path, target: Path) -> None:
    """Dequantise a GGUF model and save it with its tokenizer and chat template.

    The weights are stored in bfloat16: four-bit weights have no use for more, and a float32 model loaded from the
    result has exactly the weights of the bfloat16 one.

    Args:
        gguf: The GGUF file.
        target: Existing directory that takes the files.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    # The progress bars of the conversion cannot be switched off by a setting; they write to stderr.
    with contextlib.redirect_stderr(io.StringIO()):
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
        # These marks say "quantised" although the weights no longer are, and save_pretrained would refuse the model.
        model.hf_quantizer = None
        model.is_quantized = False
        model._weight_conversions = None
        del model.config.quantization_config
        model.config._name_or_path = ""
        config = model.config
        model.generation_config = GenerationConfig(
            bos_token_id=config.bos_token_id, eos_token_id=config.eos_token_id, pad_token_id=config.pad_token_id
        )
        model = model.to(torch.bfloat16)
        config.dtype = torch.bfloat16
        model.save_pretrained(target)
        tokenizer.model_max_length = config.max_position_embeddings
        tokenizer.save_pretrained(target)
