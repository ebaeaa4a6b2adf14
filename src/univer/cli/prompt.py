"""Prompts: from the command line, a file, or standard input; as they are or as messages of a chat."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

__all__ = ["encode_messages", "read_prompt", "read_prompts", "with_template"]

USAGE = (
    'there is no prompt; usage: univer generate "Why is the sky blue?", or --prompt-file FILE, or --prompts FILE for '
    "several prompts, or a prompt on standard input"
)


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
        text = _read(file)
    elif argument is not None and argument != "-":
        text = argument
    elif argument is None and sys.stdin.isatty():
        raise ValueError(USAGE)
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
        # Standard input that is no terminal and holds nothing: the prompt was forgotten.
        raise ValueError(USAGE if argument is None and file is None else "the prompt is empty")
    return text


def read_prompts(file: Path) -> list[list[str]]:
    """Read several prompts.

    Args:
        file: JSONL (by its ending `.jsonl`) with `text` or `turns` in every line; or a text, one prompt a line.

    Returns:
        What the user says in each conversation: one message, or several turns.

    Raises:
        ValueError: The file cannot be read or holds no prompts.
    """
    if file.suffix == ".jsonl":
        from univer.models.prompts import load_prompts

        return [[prompt.text, *prompt.later] for prompt in load_prompts(file)]
    found = [[line.strip()] for line in _read(file).splitlines() if line.strip()]
    if not found:
        raise ValueError(f"{file} holds no prompts")
    return found


def with_template(tokenizer: Any, chat: bool | None, conversation: bool) -> bool:
    """Whether prompts go through the tokenizer's chat template.

    Args:
        tokenizer: The target's tokenizer.
        chat: True and False as asked for; None for a template where there is one.
        conversation: Whether the request needs a chat: a system message or several turns.

    Raises:
        ValueError: A chat is asked for or needed, and there is no template or `--raw` forbids it.
    """
    if (chat or conversation) and not tokenizer.chat_template:
        raise ValueError("this model's tokenizer has no chat template: use --raw, without --system and --turn")
    if conversation and chat is False:
        raise ValueError("--system and --turn need the chat template: leave --raw out")
    return bool(tokenizer.chat_template) and chat is not False


def encode_messages(tokenizer: Any, messages: Sequence[dict[str, str]], chat: bool) -> Tensor:
    """Turn a conversation into token ids.

    Args:
        tokenizer: The target's tokenizer.
        messages: `role` and `content` of each, the last one the user's.
        chat: Use the tokenizer's chat template; otherwise the last message is taken as it is.

    Returns:
        Token ids `[1, L]`, int64.

    Raises:
        ValueError: The prompt has no tokens.
    """
    if chat:
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    else:
        ids = tokenizer(messages[-1]["content"], return_tensors="pt")
    found: Tensor = ids["input_ids"]
    if found.shape[-1] == 0:
        raise ValueError("the prompt has no tokens")
    return found


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the prompt file cannot be read: {error}") from error
