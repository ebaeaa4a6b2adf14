"""Texts and prompts that training starts from, read from files."""

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
    """One text to learn from.

    Attributes:
        text: the text; behind a prompt, the answer.
        prompt: what the user says before it, or None.
    """

    text: str
    prompt: str | None = None


@dataclass(frozen=True)
class Source:
    """What was read.

    Attributes:
        documents: texts to train on, or none.
        prompts: prompts for the target to answer, or none.
        label: names of the files with the start of the SHA-256 of their contents.
    """

    documents: tuple[Document, ...]
    prompts: tuple[str, ...]
    label: str


def read_texts(paths: Sequence[str | Path]) -> Source:
    """Read texts to train on.

    Args:
        paths: plain texts in UTF-8, each one document; or JSONL (by the ending `.jsonl`), one document a line: an
            object with `text`, or with `prompt` (and `completion`) that go through the chat template.

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
        path: JSONL (by the ending `.jsonl`) with `prompt`, `text` or `turns` (the first one counts); or a plain text, a
            prompt a line. None for the prompts that come with the package.

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
        length: most tokens of a piece.

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
    # Not splitlines: that also cuts at characters that JSON leaves inside strings.
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
