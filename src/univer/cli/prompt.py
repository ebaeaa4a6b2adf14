"""The prompt: from the command line, a file, or standard input; as it is or as a turn of a chat."""

import sys
from pathlib import Path
from typing import Any

from torch import Tensor

__all__ = ["encode_prompt", "read_prompt"]


def read_prompt(argument: str | None, file: Path | None) -> str:
    """Find the prompt.

    Args:
        argument: Given on the command line; `-` stands for standard input.
        file: Name of a UTF-8 text file.

    Returns:
        The text, as it is.

    Raises:
        ValueError: Both or neither are given, the file cannot be read, or the text is empty or not UTF-8.
    """
    if argument is not None and file is not None:
        raise ValueError("give the prompt as an argument or with --prompt-file, not both")
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the prompt file cannot be read: {error}") from error
    elif argument is not None and argument != "-":
        text = argument
    elif argument is None and sys.stdin.isatty():
        raise ValueError("give a prompt: as an argument, with --prompt-file, or on standard input")
    else:
        try:
            text = sys.stdin.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"the prompt on standard input is not UTF-8: {error}") from error
    # Bytes that are no UTF-8 reach arguments, and standard input in some locales, as lone surrogates.
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"the prompt is not UTF-8: a byte at character {error.start} cannot be read") from error
    if not text.strip():
        raise ValueError("the prompt is empty")
    return text


def encode_prompt(tokenizer: Any, text: str, chat: bool | None) -> Tensor:
    """Turn the prompt into token ids.

    Args:
        tokenizer: The target's tokenizer.
        text: The prompt.
        chat: Wrap it into the tokenizer's chat template (True), not (False), or where there is one (None).

    Returns:
        Token ids `[1, L]`, int64.

    Raises:
        ValueError: A chat is asked for and the tokenizer has no template, or no token is left.
    """
    if chat and not tokenizer.chat_template:
        raise ValueError("this model's tokenizer has no chat template: use --raw")
    if chat or (chat is None and tokenizer.chat_template):
        messages = [{"role": "user", "content": text}]
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    else:
        ids = tokenizer(text, return_tensors="pt")
    found: Tensor = ids["input_ids"]
    if found.shape[-1] == 0:
        raise ValueError("the prompt has no tokens")
    return found
