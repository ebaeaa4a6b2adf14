"""Small random models with a tokenizer, saved as transformers saves them."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGE = ("q", "z")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_vocabulary() -> list[str]:
    """Three special tokens, one token for each byte in its printable form, and the one merge that formats insist on."""
    return [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), "".join(MERGE)]


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer that takes every text: one token a byte, but for the merge."""
    vocabulary = {token: index for index, token in enumerate(byte_vocabulary())}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[MERGE]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def tiny_llama(seed: int, layers: int = 3) -> LlamaForCausalLM:
    """A random Llama of two heads in float32 whose weights are spread enough for its laws to be far from uniform."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(byte_vocabulary()),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=512,
        initializer_range=0.3,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).eval()
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    return model


def save_tiny_llama(directory: Path, seed: int) -> None:
    """Write the model and its tokenizer into `directory`."""
    tiny_llama(seed).save_pretrained(directory)
    byte_tokenizer().save_pretrained(directory)
