"""Texts and prompts for training, read from files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from univer.models.prompts import encode
from univer.training.texts import Texts, join


@dataclass(frozen=True)
class Document:
    """One text to train on.

    Attributes:
        text: the text; with a prompt, the answer.
        prompt: the user's prompt, or None.
    """

    text: str
    prompt: str | None = None


@dataclass(frozen=True)
class Source:
    """Texts or prompts from files.

    Attributes:
        documents: texts to train on, perhaps none.
        prompts: prompts for the target to answer, perhaps none.
        label: names of the files, each with the start of the SHA-256 of its content.
    """

    documents: tuple[Document, ...]
    prompts: tuple[str, ...]
    label: str


def read_texts(paths: Sequence[str | Path]) -> Source:
    """Read texts to train on.

    Args:
        paths: plain texts in UTF-8, one document each; or files `.jsonl` with one document a line: an object with
            `text`, or with `prompt` and perhaps `completion`, to which the chat template is applied.

    Returns:
        The documents.

    Raises:
        ValueError: a file cannot be read or holds no text.
    """
    documents: list[Document] = []
    labels = []
    for path in map(Path, paths):
        content = _read(path)
        labels.append(_label(path.name, content))
        if path.suffix == ".jsonl":
            found = [_document(path, number, entry) for number, entry in _entries(path.name, content)]
        else:
            found = [Document(content)] if content.strip() else []
        if not found:
            raise ValueError(f"{path} holds no text")
        documents += found
    return Source(tuple(documents), (), ", ".join(labels))


def read_prompts(path: str | Path | None = None) -> Source:
    """Read prompts for the target to answer.

    Args:
        path: a file `.jsonl` of objects with `prompt`, `text` or `turns`, of which the first one is read; or a plain
            text with a prompt a line. None for the prompts that come with the package.

    Returns:
        The prompts, without repeated ones.

    Raises:
        ValueError: the file cannot be read, or a line holds no prompt.
    """
    if path is None:
        name, content = "shipped prompts", files("univer.training").joinpath("prompts.jsonl").read_text("utf-8")
    else:
        name, content = Path(path).name, _read(Path(path))
    if path is None or Path(path).suffix == ".jsonl":
        prompts = []
        for number, entry in _entries(name, content):
            turns = entry.get("turns")
            text = entry.get("prompt") or entry.get("text") or (turns[0] if isinstance(turns, list) and turns else None)
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{name}, line {number}: expected a prompt under 'prompt', 'text' or 'turns'")
            prompts.append(text)
    else:
        prompts = [line.strip() for line in content.splitlines() if line.strip()]
    if not prompts:
        raise ValueError(f"{path} holds no prompts")
    return Source((), tuple(dict.fromkeys(prompts)), _label(name, content))


def cut(documents: Sequence[Document], tokenizer: Any, length: int) -> Texts:
    """Tokenise documents and cut them into pieces.

    Args:
        documents: the documents.
        tokenizer: the target's tokenizer.
        length: largest number of tokens of a piece.

    Returns:
        The pieces; those of one document are one group.
    """
    rows: list[list[int]] = []
    starts: list[int] = []
    groups: list[int] = []
    for number, document in enumerate(documents):
        given: list[int] = [] if document.prompt is None else encode(tokenizer, document.prompt)[0].tolist()
        rest = tokenizer(document.text, add_special_tokens=not given).input_ids if document.text else []
        tokens, start = [*given, *rest], len(given) if rest else 0
        for first in range(0, len(tokens), length):
            piece = tokens[first : first + length]
            rows.append(piece)
            starts.append(min(max(start - first, 0), len(piece)))
            groups.append(number)
    return join(rows, starts, groups)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as UTF-8 text: {error}") from error


def _label(name: str, content: str) -> str:
    return f"{name} ({hashlib.sha256(content.encode()).hexdigest()[:12]})"


def _entries(name: str, content: str) -> list[tuple[int, dict[str, Any]]]:
    entries = []
    # Not splitlines, which also splits at characters that JSON allows within strings.
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{name}, line {number} is not JSON: {error}") from error
        if not isinstance(entry, dict):
            raise ValueError(f"{name}, line {number} is not a JSON object")
        entries.append((number, entry))
    return entries


def _document(path: Path, number: int, entry: dict[str, Any]) -> Document:
    text, prompt = entry.get("text"), entry.get("prompt")
    if isinstance(text, str) and text.strip():
        return Document(text)
    if isinstance(prompt, str) and prompt.strip():
        completion = entry.get("completion", "")
        if isinstance(completion, str):
            return Document(completion, prompt)
    raise ValueError(f"{path.name}, line {number}: expected a text under 'text', or 'prompt' and 'completion'")
