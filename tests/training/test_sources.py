"""Texts and prompts from files."""

import json
from pathlib import Path

import pytest

from tiny_models import byte_tokenizer
from univer.bench import load_prompts
from univer.training.sources import Document, cut, read_prompts, read_texts


def _jsonl(path: Path, *entries: object) -> Path:
    path.write_text("\n".join(map(json.dumps, entries)) + "\n\n", encoding="utf-8")
    return path


def test_plain_texts_and_jsonl(tmp_path: Path) -> None:
    plain = tmp_path / "book.txt"
    plain.write_text("Once upon a time.", encoding="utf-8")
    # U+2028 ends a line for str.splitlines, not for JSON.
    lines = _jsonl(
        tmp_path / "more.jsonl", {"text": "a\u2028b"}, {"prompt": "why?", "completion": "so"}, {"prompt": "x"}
    )
    lines.write_text(lines.read_text().replace("\\u2028", "\u2028"), encoding="utf-8")
    source = read_texts([plain, lines])
    documents = [("Once upon a time.", None), ("a\u2028b", None), ("so", "why?"), ("", "x")]
    assert source.documents == tuple(Document(*document) for document in documents)
    assert source.label.startswith("book.txt (")
    changed = _jsonl(tmp_path / "more.jsonl", {"text": "another"})
    assert read_texts([plain, changed]).label != source.label


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", " \n", "holds no text"),
        ("a.jsonl", "\n", "holds no text"),
        ("a.jsonl", '{"text": "b"}\n{', "a.jsonl, line 2 is not JSON"),
        ("a.jsonl", "[1]", "line 1 is not a JSON object"),
        ("a.jsonl", '{"texts": "b"}', "line 1: expected a text under 'text'"),
        ("a.jsonl", '{"prompt": "b", "completion": 3}', "line 1: expected a text under 'text'"),
    ],
)
def test_texts_that_are_none_are_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_texts([path])


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read as UTF-8"):
        read_texts([tmp_path / "nowhere.txt"])
    (tmp_path / "latin").write_bytes(b"\xe9t\xe9")
    with pytest.raises(ValueError, match="latin cannot be read as UTF-8"):
        read_prompts(tmp_path / "latin")


def test_prompts_in_every_format(tmp_path: Path) -> None:
    lines = _jsonl(
        tmp_path / "a.jsonl", {"prompt": "one"}, {"text": "two"}, {"turns": ["three", "four"]}, {"text": "two"}
    )
    assert read_prompts(lines).prompts == ("one", "two", "three")
    plain = tmp_path / "a.txt"
    plain.write_text("one\n\n two \n", encoding="utf-8")
    assert read_prompts(plain).prompts == ("one", "two")
    with pytest.raises(ValueError, match="line 1: expected a prompt"):
        read_prompts(_jsonl(tmp_path / "b.jsonl", {"turns": []}))


def test_the_shipped_prompts_are_not_those_that_are_reported() -> None:
    prompts = read_prompts().prompts
    assert len(prompts) > 100
    assert not set(prompts) & {prompt.text for prompt in load_prompts()}


def test_documents_are_cut_into_pieces_that_know_what_was_given() -> None:
    tokenizer = byte_tokenizer()
    texts = cut([Document("abcdefg"), Document("answer", "q")], tokenizer, 8)
    pieces = [tokenizer.decode(row) for row in texts.rows()]
    assert pieces[0] == "abcdefg"
    assert "".join(pieces[1:]) == "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nanswer"
    assert texts.groups.tolist() == [0] + [1] * (len(pieces) - 1)
    given = sum(texts.starts.tolist())
    assert given == sum(texts.lengths.tolist()[1:]) - len("answer")
    assert texts.starts.tolist()[1] == 8
    # A prompt alone is a text like any other.
    assert cut([Document("", "q")], tokenizer, 99).starts.tolist() == [0]
