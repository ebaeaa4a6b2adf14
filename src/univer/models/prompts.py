"""Prompts to measure on: a small set of our own, or a file in the format of Spec-Bench."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# What tables call the rows over all prompts.
EVERY_KIND = "all"


@dataclass(frozen=True)
class Prompt:
    """One prompt.

    Attributes:
        name: its id.
        kind: the kind of task.
        text: what the user says.
        later: what the user says after each answer, in a conversation of several turns.
    """

    name: str
    kind: str
    text: str
    later: tuple[str, ...] = ()


def load_prompts(path: str | Path | None = None, limit: int | None = None) -> list[Prompt]:
    """Read prompts, the kinds in turn where a limit cuts them.

    Args:
        path: a JSONL file with `turns` and, if there are, `question_id` and `category`: the format of Spec-Bench; or
            with `text` and, if there is, `kind`. None for the 36 prompts of six kinds that come with the package to
            report on.
        limit: how many prompts to take: first one of every kind, then a second one, and so on.

    Returns:
        The prompts.

    Raises:
        ValueError: the file cannot be read, a line is no prompt or has an empty text, two prompts have one name, or
            there are no prompts.

    Example:
        >>> [prompt.kind for prompt in load_prompts(limit=2)]
        ['conversation', 'translation']
    """
    source = files("univer.models").joinpath("prompts.jsonl") if path is None else Path(path)
    try:
        content = source.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as text in UTF-8 ({error})") from error
    prompts: list[Prompt] = []
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            try:
                prompts.append(_read(line, number))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
    if not prompts:
        raise ValueError(f"{path} holds no prompts")
    check_names(prompts)
    seen: dict[str, int] = {}
    turns = []
    for prompt in prompts:
        seen[prompt.kind] = seen.get(prompt.kind, 0) + 1
        turns.append(seen[prompt.kind])
    in_turn = sorted(range(len(prompts)), key=turns.__getitem__)
    return [prompts[place] for place in in_turn[:limit]]


def _read(line: str, number: int) -> Prompt:
    try:
        entry: Any = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"no JSON ({error})") from error
    said = None
    if isinstance(entry, dict):
        said = [entry["text"]] if "text" in entry else entry.get("turns")
    if not isinstance(said, list) or not said or not all(isinstance(turn, str) for turn in said):
        raise ValueError("no prompt: expected an object with 'text', or with a list 'turns' of texts")
    if not all(turn.strip() for turn in said):
        raise ValueError("an empty text")
    kind, name = (
        " ".join(str(value).split())
        for value in (entry.get("category", entry.get("kind", "prompt")), entry.get("question_id", number))
    )
    try:
        "".join([kind, name, *said]).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half of a surrogate pair, which is no character ({error})") from error
    if not (kind + name).isprintable():
        raise ValueError(f"a control character in {kind!r} or {name!r}, which tables could not show")
    if kind == EVERY_KIND:
        raise ValueError(f"the kind {kind!r} is the name for all prompts in results: rename it")
    return Prompt(name, kind, said[0], tuple(said[1:]))


def check_names(prompts: Sequence[Prompt]) -> None:
    """Check that every prompt has a name of its own.

    Raises:
        ValueError: two have the same name.
    """
    counts = Counter(prompt.name for prompt in prompts)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"two prompts are called {min(repeated)!r}: give each a question_id of its own")


def encode(tokenizer: Any, text: str, earlier: Sequence[tuple[str, str]] = ()) -> Tensor:
    """Token ids of a prompt `[1, L]`, through the chat template where the tokenizer has one.

    Without a template the turns of a conversation are paragraphs.

    Args:
        tokenizer: a tokenizer of transformers.
        text: what the user says.
        earlier: the turns before it, each with what the user said and the answer.
    """
    if getattr(tokenizer, "chat_template", None):
        said = [(role, part) for turn in earlier for role, part in zip(("user", "assistant"), turn, strict=True)]
        messages = [{"role": role, "content": part} for role, part in [*said, ("user", text)]]
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        ids = tokenizer(text, add_special_tokens=False).input_ids
    else:
        ids = tokenizer("\n\n".join([*(part for turn in earlier for part in turn), text])).input_ids
    return torch.tensor([ids])
